#include <algorithm>
#include <numeric>

#include "h5/h5_file.hpp"
#include "h5/h5_transfer.hpp"

namespace shardgpt {
namespace {

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

H5Datatype fixed_text_type(std::size_t width, const std::string& action) {
  H5Datatype type(SHARDGPT_H5(action, H5Tcopy(H5T_C_S1)));
  SHARDGPT_H5(action, H5Tset_size(type.get(), width));
  SHARDGPT_H5(action, H5Tset_strpad(type.get(), H5T_STR_NULLPAD));
  SHARDGPT_H5(action, H5Tset_cset(type.get(), H5T_CSET_UTF8));
  return type;
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

void H5File::create_group(const std::string& name) {
  const std::string action = h5_action("create", name, *this);
  const H5Properties properties(SHARDGPT_H5(action, H5Pcreate(H5P_GROUP_CREATE)));
  SHARDGPT_H5(action, H5Pset_obj_track_times(properties.get(), false));
  const H5Group group(
      SHARDGPT_H5(action, H5Gcreate2(id(), name.c_str(), H5P_DEFAULT, properties.get(), H5P_DEFAULT)));
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
