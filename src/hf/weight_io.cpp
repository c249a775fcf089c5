#include "hf/weight_io.hpp"

#include <algorithm>
#include <vector>

namespace shardgpt {
namespace {

constexpr std::size_t piece_elements = std::size_t{1} << 20;

}  // namespace

void read_weights(const BinaryReader& file, std::int64_t offset, WeightType type, std::span<float> values) {
  if (type == WeightType::f32) {
    file.read(offset, std::as_writable_bytes(values));
    return;
  }
  const std::size_t width = weight_type_bytes(type);
  std::vector<std::byte> raw(std::min(piece_elements, values.size()) * width);
  for (std::size_t done = 0; done < values.size(); done += piece_elements) {
    const auto piece = values.subspan(done, std::min(piece_elements, values.size() - done));
    const auto bytes = std::span(raw).first(piece.size() * width);
    file.read(offset + static_cast<std::int64_t>(done * width), bytes);
    decode_weights(type, bytes, piece);
  }
}

void append_weights(BinaryWriter& file, WeightType type, std::span<const float> values,
                    const std::string& name) {
  if (type == WeightType::f32) {
    file.write(std::as_bytes(values));
    return;
  }
  const std::size_t width = weight_type_bytes(type);
  std::vector<std::byte> raw(std::min(piece_elements, values.size()) * width);
  for (std::size_t done = 0; done < values.size(); done += piece_elements) {
    const auto piece = values.subspan(done, std::min(piece_elements, values.size() - done));
    const auto bytes = std::span(raw).first(piece.size() * width);
    encode_weights(type, piece, bytes, name);
    file.write(bytes);
  }
}

}  // namespace shardgpt
