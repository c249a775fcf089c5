#pragma once

// Private to this folder: what serial and collective transfers share.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/checked.hpp"
#include "h5/h5_check.hpp"
#include "h5/h5_file.hpp"

namespace shardgpt {

/// "read /units/root/param of FILE"
inline std::string h5_action(const char* verb, const std::string& name, const H5File& file) {
  return std::string(verb) + " " + name + " of " + file.path().string();
}

/// Throws H5Error: the file's content is not what is wanted.
[[noreturn]] void throw_content(const std::string& action, const std::string& problem);

/// A dataspace of the shape `dims`; empty: scalar.
H5Space make_space(std::span<const std::int64_t> dims, const std::string& action);

/// A new dataset, contiguous, its space allocated now and never filled, without times.
H5Dataset create_contiguous(const H5File& file, const std::string& name, hid_t type,
                            std::span<const std::int64_t> dims, const std::string& action);

H5Dataset open_dataset(const H5File& file, const std::string& name, const std::string& action);
std::vector<std::int64_t> dims_of(const H5Dataset& dataset, const std::string& action);

/// Opens a dataset of one or two dimensions.
H5Dataset open_floats(const H5File& file, const std::string& name, const char* verb);

/// The two sides of a transfer of elements [begin, begin + count), whole rows. An empty one selects nothing
/// on either side and still takes part.
struct H5Selection {
  H5Space file;
  H5Space memory;
};
H5Selection select_floats(const H5Dataset& dataset, std::int64_t begin, std::int64_t count,
                          const std::string& action);

}  // namespace shardgpt
