#include <algorithm>
#include <array>
#include <numeric>

#include "h5/h5_file.hpp"
#include "h5/h5_transfer.hpp"

namespace shardgpt {
namespace {

// One call moves at most this much: HDF5 1.10 reads of 2 GiB and more fail.
constexpr std::size_t piece_elements = std::size_t{1} << 26U;

struct NativeType {
  hid_t memory;
  hid_t file;
};
template <class T>
NativeType native_type();
template <>
NativeType native_type<float>() {
  return {H5T_NATIVE_FLOAT, H5T_IEEE_F32LE};
}
template <>
NativeType native_type<std::int32_t>() {
  return {H5T_NATIVE_INT32, H5T_STD_I32LE};
}
template <>
NativeType native_type<std::uint32_t>() {
  return {H5T_NATIVE_UINT32, H5T_STD_U32LE};
}
template <>
NativeType native_type<std::int64_t>() {
  return {H5T_NATIVE_INT64, H5T_STD_I64LE};
}

[[noreturn]] void throw_content(const std::string& action, const std::string& problem) {
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

H5Datatype fixed_text_type(std::size_t width, const std::string& action) {
  H5Datatype type(SHARDGPT_H5(action, H5Tcopy(H5T_C_S1)));
  SHARDGPT_H5(action, H5Tset_size(type.get(), width));
  SHARDGPT_H5(action, H5Tset_strpad(type.get(), H5T_STR_NULLPAD));
  SHARDGPT_H5(action, H5Tset_cset(type.get(), H5T_CSET_UTF8));
  return type;
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

/// Width of the fixed-length strings of `dataset`.
std::size_t text_width(const H5Dataset& dataset, std::size_t limit, const std::string& action) {
  const H5Datatype type(SHARDGPT_H5(action, H5Dget_type(dataset.get())));
  if (H5Tget_class(type.get()) != H5T_STRING || SHARDGPT_H5(action, H5Tis_variable_str(type.get())) != 0) {
    throw_content(action, "it does not hold fixed-length strings");
  }
  const std::size_t width = H5Tget_size(type.get());
  if (width == 0 || width > limit) {
    throw_content(
        action, "its strings are " + std::to_string(width) + " bytes, wanted 1 to " + std::to_string(limit));
  }
  return width;
}

/// A text without its padding, which must be all zeros: no byte of the dataset goes unchecked.
std::string trimmed(const char* text, std::size_t width, const std::string& action) {
  const char* end = std::find(text, text + width, '\0');
  if (std::any_of(end, text + width, [](char byte) { return byte != '\0'; })) {
    throw_content(action, "a text is not padded with zeros");
  }
  return {text, end};
}

}  // namespace

H5Dataset open_floats(const H5File& file, const std::string& name, const char* verb) {
  const std::string action = h5_action(verb, name, file);
  H5Dataset dataset = open_dataset(file, name, action);
  if (dims_of(dataset, action).size() != 1) {
    throw_content(action, "it is not one-dimensional");
  }
  return dataset;
}

H5Selection select_floats(const H5Dataset& dataset, std::int64_t begin, std::int64_t count,
                          const std::string& action) {
  const std::int64_t elements = dims_of(dataset, action).at(0);
  if (begin < 0 || count < 0 || begin > elements || count > elements - begin) {
    throw_content(action, "elements " + std::to_string(begin) + " to " + std::to_string(begin + count) +
                              " are wanted of " + std::to_string(elements));
  }
  H5Selection selection{H5Space(SHARDGPT_H5(action, H5Dget_space(dataset.get()))), H5Space()};
  const std::array<std::int64_t, 1> memory_dims = {std::max<std::int64_t>(count, 1)};
  selection.memory = make_space(memory_dims, action);
  if (count == 0) {
    SHARDGPT_H5(action, H5Sselect_none(selection.file.get()));
    SHARDGPT_H5(action, H5Sselect_none(selection.memory.get()));
  } else {
    const auto start = narrow<hsize_t>(begin);
    const auto length = narrow<hsize_t>(count);
    SHARDGPT_H5(action,
                H5Sselect_hyperslab(selection.file.get(), H5S_SELECT_SET, &start, nullptr, &length, nullptr));
  }
  if (SHARDGPT_H5(action, H5Sget_select_npoints(selection.file.get())) !=
      SHARDGPT_H5(action, H5Sget_select_npoints(selection.memory.get()))) {
    throw_content(action, "memory and file selections differ");
  }
  return selection;
}

void H5File::create_group(const std::string& name) {
  const std::string action = h5_action("create", name, *this);
  const H5Properties properties(SHARDGPT_H5(action, H5Pcreate(H5P_GROUP_CREATE)));
  SHARDGPT_H5(action, H5Pset_obj_track_times(properties.get(), false));
  const H5Group group(
      SHARDGPT_H5(action, H5Gcreate2(id(), name.c_str(), H5P_DEFAULT, properties.get(), H5P_DEFAULT)));
}

void H5File::create_floats(const std::string& name, std::int64_t elements) {
  const std::array<std::int64_t, 1> dims = {elements};
  create_contiguous(*this, name, H5T_IEEE_F32LE, dims, h5_action("create", name, *this));
}

void H5File::write_floats(const std::string& name, std::int64_t begin, std::span<const float> values) {
  const std::string action = h5_action("write", name, *this);
  const H5Dataset dataset = open_floats(*this, name, "write");
  for (std::size_t done = 0; done < values.size();) {
    const auto piece = values.subspan(done, std::min(piece_elements, values.size() - done));
    const H5Selection selection = select_floats(dataset, begin + static_cast<std::int64_t>(done),
                                                static_cast<std::int64_t>(piece.size()), action);
    SHARDGPT_H5(action, H5Dwrite(dataset.get(), H5T_NATIVE_FLOAT, selection.memory.get(),
                                 selection.file.get(), H5P_DEFAULT, piece.data()));
    done += piece.size();
  }
}

void H5File::read_floats(const std::string& name, std::int64_t begin, std::span<float> values) const {
  const std::string action = h5_action("read", name, *this);
  const H5Dataset dataset = open_floats(*this, name, "read");
  for (std::size_t done = 0; done < values.size();) {
    const auto piece = values.subspan(done, std::min(piece_elements, values.size() - done));
    const H5Selection selection = select_floats(dataset, begin + static_cast<std::int64_t>(done),
                                                static_cast<std::int64_t>(piece.size()), action);
    SHARDGPT_H5(action, H5Dread(dataset.get(), H5T_NATIVE_FLOAT, selection.memory.get(), selection.file.get(),
                                H5P_DEFAULT, piece.data()));
    done += piece.size();
  }
}

void H5File::create_text(const std::string& name, const std::string& text) {
  const std::string action = h5_action("create", name, *this);
  const H5Datatype type = fixed_text_type(text.size(), action);
  const H5Dataset dataset = create_contiguous(*this, name, type.get(), {}, action);
  SHARDGPT_H5(action, H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()));
}

std::string H5File::read_text(const std::string& name, std::int64_t size_limit) const {
  const std::string action = h5_action("read", name, *this);
  const H5Dataset dataset = open_dataset(*this, name, action);
  if (!dims_of(dataset, action).empty()) {
    throw_content(action, "it is not a single text");
  }
  const std::size_t width = text_width(dataset, narrow<std::size_t>(size_limit), action);
  const H5Datatype type = fixed_text_type(width, action);
  std::string text(width, '\0');
  SHARDGPT_H5(action, H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()));
  return text;
}

void H5File::create_texts(const std::string& name, std::span<const std::string> texts, std::size_t width) {
  const std::string action = h5_action("create", name, *this);
  std::string packed;
  for (const std::string& text : texts) {
    if (text.size() > width) {
      throw_content(action, "\"" + text + "\" is longer than " + std::to_string(width) + " bytes");
    }
    packed += text + std::string(width - text.size(), '\0');
  }
  const H5Datatype type = fixed_text_type(width, action);
  const std::array<std::int64_t, 1> dims = {static_cast<std::int64_t>(texts.size())};
  const H5Dataset dataset = create_contiguous(*this, name, type.get(), dims, action);
  SHARDGPT_H5(action, H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, packed.data()));
}

std::vector<std::string> H5File::read_texts(const std::string& name, std::int64_t count,
                                            std::size_t width_limit) const {
  const std::string action = h5_action("read", name, *this);
  const H5Dataset dataset = open_dataset(*this, name, action);
  if (dims_of(dataset, action) != std::vector{count}) {
    throw_content(action, "it does not hold " + std::to_string(count) + " texts");
  }
  const std::size_t width = text_width(dataset, width_limit, action);
  const H5Datatype type = fixed_text_type(width, action);
  std::string packed(checked_mul(width, narrow<std::size_t>(count)), '\0');
  SHARDGPT_H5(action, H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, packed.data()));
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < packed.size(); at += width) {
    texts.push_back(trimmed(packed.data() + at, width, action));
  }
  return texts;
}

template <class T>
void H5File::create_array(const std::string& name, std::span<const std::int64_t> dims,
                          std::span<const T> values) {
  const std::string action = h5_action("create", name, *this);
  const std::int64_t elements =
      std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, checked_mul<std::int64_t>);
  if (narrow<std::size_t>(elements) != values.size()) {
    throw_content(action, std::to_string(values.size()) + " values for " + std::to_string(elements));
  }
  const NativeType type = native_type<T>();
  const H5Dataset dataset = create_contiguous(*this, name, type.file, dims, action);
  SHARDGPT_H5(action, H5Dwrite(dataset.get(), type.memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
}

template <class T>
std::vector<T> H5File::read_array(const std::string& name, std::span<const std::int64_t> dims) const {
  const std::string action = h5_action("read", name, *this);
  const H5Dataset dataset = open_dataset(*this, name, action);
  if (!std::ranges::equal(dims_of(dataset, action), dims)) {
    throw_content(action, "its shape is not the one wanted");
  }
  const std::int64_t elements =
      std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, checked_mul<std::int64_t>);
  std::vector<T> values(narrow<std::size_t>(elements));
  SHARDGPT_H5(action,
              H5Dread(dataset.get(), native_type<T>().memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
  return values;
}

#define SHARDGPT_H5_INSTANTIATE(T)                                                         \
  template void H5File::create_array<T>(const std::string&, std::span<const std::int64_t>, \
                                        std::span<const T>);                               \
  template std::vector<T> H5File::read_array<T>(const std::string&, std::span<const std::int64_t>) const;
SHARDGPT_H5_INSTANTIATE(float)
SHARDGPT_H5_INSTANTIATE(std::int32_t)
SHARDGPT_H5_INSTANTIATE(std::uint32_t)
SHARDGPT_H5_INSTANTIATE(std::int64_t)
#undef SHARDGPT_H5_INSTANTIATE

bool H5File::contains(const std::string& name) const {
  const H5Dataset dataset(H5Dopen2(id(), name.c_str(), H5P_DEFAULT));
  return dataset.get() >= 0;
}

H5DatasetShape H5File::shape_of(const std::string& name) const {
  const std::string action = h5_action("read the shape of", name, *this);
  const H5Dataset dataset = open_dataset(*this, name, action);
  const H5Datatype type(SHARDGPT_H5(action, H5Dget_type(dataset.get())));
  const H5Properties properties(SHARDGPT_H5(action, H5Dget_create_plist(dataset.get())));
  const haddr_t offset = H5Dget_offset(dataset.get());  // undefined where there is no one run of bytes
  return {dims_of(dataset, action), SHARDGPT_H5(action, H5Tequal(type.get(), H5T_IEEE_F32LE)) > 0,
          H5Pget_layout(properties.get()) == H5D_CONTIGUOUS,
          offset == HADDR_UNDEF ? -1 : narrow<std::int64_t>(offset),
          narrow<std::int64_t>(H5Dget_storage_size(dataset.get()))};
}

}  // namespace shardgpt
