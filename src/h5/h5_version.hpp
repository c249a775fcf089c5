#pragma once

#include <string>

namespace shardgpt {

/// "1.10.8": the HDF5 that this library was built for; HDF5 refuses to run with another.
[[nodiscard]] std::string h5_library_version();

}  // namespace shardgpt
