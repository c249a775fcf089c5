#include "tests/cuda_on_host/nccl/settings.hpp"

#include <cstdlib>

namespace nccl_on_host {
namespace {

std::optional<std::uint64_t> number(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional(std::strtoull(value, nullptr, 10));
}

Settings from_environment() {
  Settings result;
  result.launch_delay_us =
      static_cast<unsigned>(number("NCCL_ON_HOST_LAUNCH_DELAY_US").value_or(result.launch_delay_us));
  result.stuck_at = number("NCCL_ON_HOST_STUCK");
  result.error_behind = number("NCCL_ON_HOST_ERROR");
  result.abort_hangs = number("NCCL_ON_HOST_ABORT_HANGS").value_or(0) != 0;
  return result;
}

}  // namespace

Settings& settings() {
  static Settings instance = from_environment();
  return instance;
}

}  // namespace nccl_on_host
