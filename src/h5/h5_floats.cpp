#include <algorithm>

#include "h5/h5_file.hpp"
#include "h5/h5_transfer.hpp"

namespace shardgpt {
namespace {

// One call moves at most about this much: HDF5 1.10 reads of 2 GiB and more fail.
constexpr std::int64_t piece_elements = std::int64_t{1} << 26U;

/// Calls move(selection, first value) for pieces of whole rows that make up `count` elements from `begin`.
template <class Move>
void for_each_piece(const H5Dataset& dataset, std::int64_t begin, std::size_t count,
                    const std::string& action, Move&& move) {
  const std::vector<std::int64_t> dims = dims_of(dataset, action);
  const std::int64_t row = dims.size() == 2 ? std::max<std::int64_t>(1, dims[1]) : 1;
  const std::int64_t piece = std::max<std::int64_t>(1, piece_elements / row) * row;
  const auto total = narrow<std::int64_t>(count);
  for (std::int64_t done = 0; done < total; done += piece) {
    move(select_floats(dataset, begin + done, std::min(piece, total - done), action), done);
  }
}

}  // namespace

void H5File::create_floats(const std::string& name, std::span<const std::int64_t> dims) {
  create_contiguous(*this, name, H5T_IEEE_F32LE, dims, h5_action("create", name, *this));
}

void H5File::write_floats(const std::string& name, std::int64_t begin, std::span<const float> values) {
  const std::string action = h5_action("write", name, *this);
  const H5Dataset dataset = open_floats(*this, name, "write");
  for_each_piece(dataset, begin, values.size(), action,
                 [&](const H5Selection& selection, std::int64_t first) {
                   SHARDGPT_H5(action, H5Dwrite(dataset.get(), H5T_NATIVE_FLOAT, selection.memory.get(),
                                                selection.file.get(), H5P_DEFAULT, values.data() + first));
                 });
}

void H5File::read_floats(const std::string& name, std::int64_t begin, std::span<float> values) const {
  const std::string action = h5_action("read", name, *this);
  const H5Dataset dataset = open_floats(*this, name, "read");
  for_each_piece(dataset, begin, values.size(), action,
                 [&](const H5Selection& selection, std::int64_t first) {
                   SHARDGPT_H5(action, H5Dread(dataset.get(), H5T_NATIVE_FLOAT, selection.memory.get(),
                                               selection.file.get(), H5P_DEFAULT, values.data() + first));
                 });
}

}  // namespace shardgpt
