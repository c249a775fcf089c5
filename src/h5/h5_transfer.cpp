#include "h5/h5_transfer.hpp"

#include <algorithm>
#include <array>

namespace shardgpt {

void throw_content(const std::string& action, const std::string& problem) {
  throw H5Error(H5Error::Cause::content, "cannot " + action + ": " + problem);
}

H5Space make_space(std::span<const std::int64_t> dims, const std::string& action) {
  if (dims.empty()) {
    return H5Space(SHARDGPT_H5(action, H5Screate(H5S_SCALAR)));
  }
  std::vector<hsize_t> extents;
  for (const std::int64_t extent : dims) {
    extents.push_back(narrow<hsize_t>(extent));
  }
  return H5Space(
      SHARDGPT_H5(action, H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr)));
}

H5Dataset create_contiguous(const H5File& file, const std::string& name, hid_t type,
                            std::span<const std::int64_t> dims, const std::string& action) {
  const H5Properties properties(SHARDGPT_H5(action, H5Pcreate(H5P_DATASET_CREATE)));
  SHARDGPT_H5(action, H5Pset_layout(properties.get(), H5D_CONTIGUOUS));
  SHARDGPT_H5(action, H5Pset_alloc_time(properties.get(), H5D_ALLOC_TIME_EARLY));
  SHARDGPT_H5(action, H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER));
  SHARDGPT_H5(action, H5Pset_obj_track_times(properties.get(), false));
  const H5Space space = make_space(dims, action);
  return H5Dataset(SHARDGPT_H5(action, H5Dcreate2(file.id(), name.c_str(), type, space.get(), H5P_DEFAULT,
                                                  properties.get(), H5P_DEFAULT)));
}

std::vector<std::int64_t> dims_of(const H5Dataset& dataset, const std::string& action) {
  const H5Space space(SHARDGPT_H5(action, H5Dget_space(dataset.get())));
  std::array<hsize_t, H5S_MAX_RANK> extents{};
  const int count = SHARDGPT_H5(action, H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr));
  std::vector<std::int64_t> dims;
  std::ranges::transform(std::span(extents).first(static_cast<std::size_t>(count)), std::back_inserter(dims),
                         [](hsize_t extent) { return narrow<std::int64_t>(extent); });
  return dims;
}

H5Dataset open_dataset(const H5File& file, const std::string& name, const std::string& action) {
  return H5Dataset(SHARDGPT_H5(action, H5Dopen2(file.id(), name.c_str(), H5P_DEFAULT)));
}

H5Dataset open_floats(const H5File& file, const std::string& name, const char* verb) {
  const std::string action = h5_action(verb, name, file);
  H5Dataset dataset = open_dataset(file, name, action);
  const std::size_t rank = dims_of(dataset, action).size();
  if (rank != 1 && rank != 2) {
    throw_content(action, "it has " + std::to_string(rank) + " dimensions, wanted 1 or 2");
  }
  return dataset;
}

H5Selection select_floats(const H5Dataset& dataset, std::int64_t begin, std::int64_t count,
                          const std::string& action) {
  const std::vector<std::int64_t> dims = dims_of(dataset, action);
  const std::int64_t row = dims.size() == 2 ? dims[1] : 1;
  const std::int64_t elements = checked_mul(dims.at(0), row);
  if (begin < 0 || count < 0 || begin > elements || count > elements - begin) {
    throw_content(action, "elements " + std::to_string(begin) + " to " + std::to_string(begin + count) +
                              " are wanted of " + std::to_string(elements));
  }
  if (count > 0 && (begin % row != 0 || count % row != 0)) {
    throw_content(action, "elements " + std::to_string(begin) + " to " + std::to_string(begin + count) +
                              " are not whole rows of " + std::to_string(row));
  }
  H5Selection selection{H5Space(SHARDGPT_H5(action, H5Dget_space(dataset.get()))), H5Space()};
  const std::array<std::int64_t, 1> memory_dims = {std::max<std::int64_t>(count, 1)};
  selection.memory = make_space(memory_dims, action);
  if (count == 0) {
    SHARDGPT_H5(action, H5Sselect_none(selection.file.get()));
    SHARDGPT_H5(action, H5Sselect_none(selection.memory.get()));
  } else {
    const std::array<hsize_t, 2> start = {narrow<hsize_t>(begin / row), 0};
    const std::array<hsize_t, 2> length = {narrow<hsize_t>(count / row), narrow<hsize_t>(row)};
    SHARDGPT_H5(action, H5Sselect_hyperslab(selection.file.get(), H5S_SELECT_SET, start.data(), nullptr,
                                            length.data(), nullptr));
  }
  if (SHARDGPT_H5(action, H5Sget_select_npoints(selection.file.get())) !=
      SHARDGPT_H5(action, H5Sget_select_npoints(selection.memory.get()))) {
    throw_content(action, "memory and file selections differ");
  }
  return selection;
}

}  // namespace shardgpt
