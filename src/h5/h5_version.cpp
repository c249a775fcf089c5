#include "h5/h5_version.hpp"

#include <hdf5.h>

namespace shardgpt {

std::string h5_library_version() {
  // From the header: a call would be one from another thread than that which uses HDF5.
  return std::to_string(H5_VERS_MAJOR) + "." + std::to_string(H5_VERS_MINOR) + "." +
         std::to_string(H5_VERS_RELEASE);
}

}  // namespace shardgpt
