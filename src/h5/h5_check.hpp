#pragma once

// Private to this folder: it includes hdf5.h.

#include <cstdint>
#include <string>

#include <hdf5.h>

#include "h5/h5_error.hpp"
#include "h5/unique_handle.hpp"

namespace shardgpt {

static_assert(sizeof(hid_t) == sizeof(std::int64_t), "H5File keeps a hid_t in 64 bits");

/// Throws H5Error: "cannot ACTION: CALL: HDF5's error stack, innermost first".
[[noreturn]] void throw_h5_error(const std::string& action, const char* call, const char* file, int line);

/// Stops HDF5 from printing its error stack; done once per process.
void silence_h5_errors();

/// The value of an HDF5 call, or throw_h5_error where it is negative. `action` is evaluated only on failure.
#define SHARDGPT_H5(action, call)                                      \
  ([&] {                                                               \
    const auto shardgpt_value_ = (call);                               \
    if (shardgpt_value_ < 0) {                                         \
      ::shardgpt::throw_h5_error((action), #call, __FILE__, __LINE__); \
    }                                                                  \
    return shardgpt_value_;                                            \
  }())

/// Owner of an HDF5 identifier; Close is the call that ends it.
template <herr_t (*Close)(hid_t)>
struct H5IdTraits {
  using Raw = hid_t;
  static constexpr Raw null = -1;
  static void close(Raw raw) noexcept { Close(raw); }
};
using H5Space = UniqueHandle<H5IdTraits<H5Sclose>>;
using H5Properties = UniqueHandle<H5IdTraits<H5Pclose>>;
using H5Dataset = UniqueHandle<H5IdTraits<H5Dclose>>;
using H5Datatype = UniqueHandle<H5IdTraits<H5Tclose>>;
using H5Group = UniqueHandle<H5IdTraits<H5Gclose>>;

}  // namespace shardgpt
