#pragma once

// Private to this folder: what serial and collective transfers share.

#include <string>

#include "core/checked.hpp"
#include "h5/h5_check.hpp"
#include "h5/h5_file.hpp"

namespace shardgpt {

/// "read /units/root/param of FILE"
inline std::string h5_action(const char* verb, const std::string& name, const H5File& file) {
  return std::string(verb) + " " + name + " of " + file.path().string();
}

/// Opens `name` and checks that [begin, begin + count) lies inside its one dimension.
H5Dataset open_floats(const H5File& file, const std::string& name, const char* verb);

/// The two sides of a transfer. An empty one selects nothing on either side and still takes part.
struct H5Selection {
  H5Space file;
  H5Space memory;
};
H5Selection select_floats(const H5Dataset& dataset, std::int64_t begin, std::int64_t count,
                          const std::string& action);

}  // namespace shardgpt
