#include "tests/cuda_on_host/runtime/settings.hpp"

#include <cstdlib>
#include <sstream>
#include <string>

namespace cuda_on_host {
namespace {

std::optional<long> number(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional(std::strtol(value, nullptr, 10));
}

std::vector<int> visible_devices(int physical) {
  std::vector<int> visible;
  const char* given = std::getenv("CUDA_VISIBLE_DEVICES");
  if (given == nullptr) {
    for (int device = 0; device < physical; ++device) {
      visible.push_back(device);
    }
    return visible;
  }
  std::istringstream entries{std::string(given)};
  for (std::string entry; std::getline(entries, entry, ',');) {
    char* end = nullptr;
    const long device = std::strtol(entry.c_str(), &end, 10);
    if (entry.empty() || *end != '\0' || device < 0 || device >= physical) {
      break;
    }
    visible.push_back(static_cast<int>(device));
  }
  return visible;
}

Settings from_environment() {
  Settings result;
  result.driver = number("CUDA_ON_HOST_DRIVER").value_or(1) != 0;
  result.physical_devices =
      static_cast<int>(number("CUDA_ON_HOST_DEVICES").value_or(result.physical_devices));
  result.visible = visible_devices(result.physical_devices);
  if (const auto mebibytes = number("CUDA_ON_HOST_MEMORY_MIB")) {
    result.memory_bytes = static_cast<std::size_t>(*mebibytes) << 20U;
  }
  if (const auto seed = number("CUDA_ON_HOST_DELAYS")) {
    result.delay_seed = static_cast<unsigned>(*seed);
  }
  if (const auto stream = number("CUDA_ON_HOST_SLOW_STREAM")) {
    result.slow_stream = static_cast<int>(*stream);
  }
  result.guard = number("CUDA_ON_HOST_GUARD").value_or(0) != 0;
  return result;
}

}  // namespace

Settings& settings() {
  static Settings instance = from_environment();
  return instance;
}

}  // namespace cuda_on_host
