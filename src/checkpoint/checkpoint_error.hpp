#pragma once

#include <filesystem>
#include <string>

#include "core/error.hpp"

namespace shardgpt {

/// A checkpoint whose content is not what was written: cut short, a byte changed, a part missing. Resuming
/// goes on to an older one; everything else reports it as bad input.
class DamagedCheckpoint : public InputError {
 public:
  DamagedCheckpoint(const std::filesystem::path& path, const std::string& reason)
      : InputError("checkpoint " + path.string() + " is damaged: " + reason) {}
  explicit DamagedCheckpoint(const std::string& message) : InputError(message) {}
};

}  // namespace shardgpt
