#include "h5/h5_file.hpp"
#include "h5/h5_transfer.hpp"

namespace shardgpt {
namespace {

/// A one-dimensional space of `elements` with [begin, begin + count) selected.
H5Space selected_space(std::int64_t elements, std::int64_t begin, std::int64_t count,
                       const std::string& action) {
  H5Space space = make_space(std::span(&elements, 1), action);
  const auto start = narrow<hsize_t>(begin);
  const auto length = narrow<hsize_t>(count);
  SHARDGPT_H5(action, H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &start, nullptr, &length, nullptr));
  return space;
}

struct SelectedRun {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

/// The run that selected_space was given.
SelectedRun selection_of(const H5Space& space, const std::string& action) {
  if (SHARDGPT_H5(action, H5Sget_simple_extent_ndims(space.get())) != 1) {
    throw_content(action, "it is not of one dimension");
  }
  hsize_t first = 0;
  hsize_t last = 0;
  SHARDGPT_H5(action, H5Sget_select_bounds(space.get(), &first, &last));
  const auto count = SHARDGPT_H5(action, H5Sget_select_npoints(space.get()));
  if (narrow<hssize_t>(last - first + 1) != count) {
    throw_content(action, "a part of it is not one run of elements");
  }
  return {narrow<std::int64_t>(first), count};
}

/// The text that get(buffer, size) writes; HDF5 returns the length where the buffer is null.
template <class Get>
std::string text_from(const std::string& action, Get&& get) {
  const auto length = static_cast<std::size_t>(SHARDGPT_H5(action, get(nullptr, std::size_t{0})));
  std::string text(length + 1, '\0');
  SHARDGPT_H5(action, get(text.data(), text.size()));
  text.resize(length);
  return text;
}

}  // namespace

void H5File::create_virtual_floats(const std::string& name, std::int64_t elements,
                                   std::span<const H5VirtualRun> runs) {
  const std::string action = h5_action("create", name, *this);
  const H5Properties properties(SHARDGPT_H5(action, H5Pcreate(H5P_DATASET_CREATE)));
  SHARDGPT_H5(action, H5Pset_obj_track_times(properties.get(), false));
  for (const H5VirtualRun& run : runs) {
    const H5Space here = selected_space(elements, run.begin, run.count, action);
    // The size of the other dataset is not stored: HDF5 looks it up when it reads.
    const H5Space there = selected_space(run.offset + run.count, run.offset, run.count, action);
    SHARDGPT_H5(action, H5Pset_virtual(properties.get(), here.get(), run.file.c_str(), run.dataset.c_str(),
                                       there.get()));
  }
  const H5Space space = make_space(std::span(&elements, 1), action);
  const H5Dataset dataset(SHARDGPT_H5(action, H5Dcreate2(id(), name.c_str(), H5T_IEEE_F32LE, space.get(),
                                                         H5P_DEFAULT, properties.get(), H5P_DEFAULT)));
}

std::vector<H5VirtualRun> H5File::virtual_runs_of(const std::string& name) const {
  const std::string action = h5_action("read the parts of", name, *this);
  const H5Dataset dataset = open_dataset(*this, name, action);
  const H5Properties properties(SHARDGPT_H5(action, H5Dget_create_plist(dataset.get())));
  if (H5Pget_layout(properties.get()) != H5D_VIRTUAL) {
    throw_content(action, "it is no virtual dataset");
  }
  std::size_t count = 0;
  SHARDGPT_H5(action, H5Pget_virtual_count(properties.get(), &count));
  std::vector<H5VirtualRun> runs;
  for (std::size_t i = 0; i < count; ++i) {
    const SelectedRun here =
        selection_of(H5Space(SHARDGPT_H5(action, H5Pget_virtual_vspace(properties.get(), i))), action);
    const SelectedRun there =
        selection_of(H5Space(SHARDGPT_H5(action, H5Pget_virtual_srcspace(properties.get(), i))), action);
    if (here.count != there.count) {
      throw_content(action, "a part of it has two sizes");
    }
    runs.push_back({here.begin, here.count,
                    text_from(action,
                              [&](char* text, std::size_t size) {
                                return H5Pget_virtual_filename(properties.get(), i, text, size);
                              }),
                    text_from(action,
                              [&](char* text, std::size_t size) {
                                return H5Pget_virtual_dsetname(properties.get(), i, text, size);
                              }),
                    there.begin});
  }
  return runs;
}

}  // namespace shardgpt
