#include "hf/safetensors_writer.hpp"

#include <stdexcept>

#include <nlohmann/json.hpp>

#include "core/checked.hpp"
#include "hf/weight_io.hpp"

namespace shardgpt {
namespace {

constexpr std::size_t header_alignment = 8;

std::string header_text(WeightType type, const std::vector<SafetensorsTensor>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  // Ordered as written: readers that go through the header then read the file from front to back.
  nlohmann::ordered_json header;
  header["__metadata__"] = metadata;
  header["__metadata__"]["format"] = "pt";
  std::int64_t at = 0;
  for (const SafetensorsTensor& tensor : tensors) {
    const std::int64_t end =
        checked_add(at, checked_mul(tensor.elements, static_cast<std::int64_t>(weight_type_bytes(type))));
    header[tensor.name] = {
        {"dtype", safetensors_name(type)}, {"shape", tensor.shape}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = header.dump();
  text.append(round_up(text.size(), header_alignment) - text.size(), ' ');
  return text;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(std::filesystem::path path, WeightType type,
                                     std::vector<SafetensorsTensor> tensors,
                                     const std::map<std::string, std::string>& metadata)
    : file_(std::move(path)), type_(type), tensors_(std::move(tensors)) {
  const std::string header = header_text(type_, tensors_, metadata);
  const std::uint64_t length = header.size();
  file_.write(std::as_bytes(std::span(&length, 1)));
  file_.write(std::as_bytes(std::span(header)));
}

void SafetensorsWriter::append(const std::string& name, std::span<const float> values) {
  if (current_ >= tensors_.size() || tensors_[current_].name != name ||
      static_cast<std::int64_t>(values.size()) > tensors_[current_].elements - written_) {
    throw std::logic_error("safetensors: " + name + " is written out of turn or too long");
  }
  append_weights(file_, type_, values, name);
  written_ += static_cast<std::int64_t>(values.size());
  if (written_ == tensors_[current_].elements) {
    ++current_;
    written_ = 0;
  }
}

void SafetensorsWriter::finish() {
  if (current_ != tensors_.size()) {
    throw std::logic_error("safetensors: " + tensors_[current_].name + " is incomplete");
  }
  file_.finish();
}

}  // namespace shardgpt
