// The safetensors reader, from the length of the header to the last value.
#include <vector>

#include "fuzz_target.hpp"
#include "hf/safetensors_reader.hpp"
#include "hf/weight_type.hpp"

using namespace shardgpt;

namespace {

void read_all(const SafetensorsReader& file) {
  std::int64_t covered = 0;
  for (const SafetensorsEntry& entry : file.header().entries) {
    fuzz::require(entry.begin == covered && entry.end >= entry.begin,
                  "accepted ranges do not follow each other");
    covered = entry.end;
    if (weight_type_of(entry.dtype)) {
      std::vector<float> values(static_cast<std::size_t>(entry.elements));
      file.read(entry, 0, values);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::may_refuse(
      [&] { read_all(SafetensorsReader(fuzz::file_with(std::as_bytes(std::span(data, size))))); });
  return 0;
}
