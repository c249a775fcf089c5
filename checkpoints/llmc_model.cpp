#include "checkpoints/llmc_model.hpp"

#include <algorithm>
#include <array>

#include "hf/weight_io.hpp"

namespace shardgpt {
namespace {

constexpr std::int64_t piece_elements = std::int64_t{1} << 22;  // 16 MiB

LlmcHeader read_header(const BinaryReader& file) {
  std::array<std::byte, llmc_header_bytes> bytes{};
  const auto start =
      std::span(bytes).first(static_cast<std::size_t>(std::min(llmc_header_bytes, file.bytes())));
  file.read(0, start);
  return parse_llmc_header(start, file.bytes(), file.path().string());
}

}  // namespace

LlmcModel::LlmcModel(std::filesystem::path path)
    : file_(std::move(path)),
      header_(read_header(file_)),
      table_(header_.config),
      places_(llmc_tensors(table_, header_)) {
  std::ranges::sort(places_, {}, &LlmcTensor::index);
}

void LlmcModel::stream(const TensorSpec& tensor,
                       const std::function<void(std::span<const float>)>& consume) const {
  const LlmcTensor& place = places_.at(static_cast<std::size_t>(&tensor - table_.tensors().data()));
  if (place.transposed) {
    stored_.resize(static_cast<std::size_t>(tensor.elements));
    values_.resize(stored_.size());
    read_weights(file_, place.first_byte, header_.type, stored_);
    transpose(stored_, tensor.shape[1], tensor.shape[0], values_);
    consume(values_);
    return;
  }
  const auto width = static_cast<std::int64_t>(weight_type_bytes(header_.type));
  for (std::int64_t done = 0; done < tensor.elements; done += piece_elements) {
    values_.resize(static_cast<std::size_t>(std::min(piece_elements, tensor.elements - done)));
    read_weights(file_, place.first_byte + done * width, header_.type, values_);
    consume(values_);
  }
}

}  // namespace shardgpt
