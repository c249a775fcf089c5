#include "hf/safetensors_reader.hpp"

#include <string>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "hf/weight_io.hpp"

namespace shardgpt {
namespace {

constexpr std::int64_t length_bytes = 8;

}  // namespace

SafetensorsReader::SafetensorsReader(std::filesystem::path path) : file_(std::move(path)) {
  const std::string where = file_.path().string();
  const std::int64_t file_bytes = file_.bytes();
  SHARDGPT_REQUIRE(file_bytes >= length_bytes,
                   where + ": " + std::to_string(file_bytes) + " bytes are too few for a safetensors file");
  std::uint64_t header_bytes = 0;
  file_.read(0, std::as_writable_bytes(std::span(&header_bytes, 1)));
  SHARDGPT_REQUIRE(header_bytes <= safetensors_header_limit,
                   where + ": the header says it has " + std::to_string(header_bytes) + " bytes, at most " +
                       std::to_string(safetensors_header_limit) + " are read");
  data_begin_ = length_bytes + narrow<std::int64_t>(header_bytes);
  SHARDGPT_REQUIRE(data_begin_ <= file_bytes, where + ": the header says it has " +
                                                  std::to_string(header_bytes) + " bytes, the file has " +
                                                  std::to_string(file_bytes));
  std::string json(header_bytes, '\0');
  file_.read(length_bytes, std::as_writable_bytes(std::span(json)));
  header_ = parse_safetensors_header(json, file_bytes - data_begin_, where);
}

void SafetensorsReader::read(const SafetensorsEntry& entry, std::int64_t begin,
                             std::span<float> values) const {
  const auto type = weight_type_of(entry.dtype);
  SHARDGPT_REQUIRE(
      type, path().string() + ": tensor " + entry.name + " is " + entry.dtype + ", wanted F32, BF16 or F16");
  SHARDGPT_EXPECT(begin >= 0 && begin <= entry.elements - static_cast<std::int64_t>(values.size()));
  const auto width = static_cast<std::int64_t>(weight_type_bytes(*type));
  read_weights(file_, data_begin_ + entry.begin + begin * width, *type, values);
}

}  // namespace shardgpt
