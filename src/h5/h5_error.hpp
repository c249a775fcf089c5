#pragma once

#include <string>

#include "core/error.hpp"

namespace shardgpt {

/// A failed HDF5 call: what was tried on which file, and HDF5's own error stack.
class H5Error : public Error {
 public:
  enum class Cause {
    content,  ///< HDF5 rejects what the file holds: cut short, no HDF5 file, a metadata checksum is wrong
    system,   ///< the operating system refused: the text holds its errno
    locked    ///< another program holds the file
  };

  H5Error(Cause cause, const std::string& message) : Error(message), cause_(cause) {}
  [[nodiscard]] Cause cause() const { return cause_; }

 private:
  Cause cause_;
};

}  // namespace shardgpt
