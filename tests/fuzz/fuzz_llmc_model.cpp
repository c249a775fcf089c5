// llm.c's model file: the header with the size of the file and with others, and every value.
#include <algorithm>
#include <limits>

#include "checkpoints/llmc_model.hpp"
#include "fuzz_target.hpp"

using namespace shardgpt;

namespace {

void read_all(const LlmcModel& model) {
  for (const TensorSpec& tensor : model.table().tensors()) {
    std::int64_t elements = 0;
    model.stream(
        tensor, [&](std::span<const float> values) { elements += static_cast<std::int64_t>(values.size()); });
    fuzz::require(elements == tensor.elements, "a tensor is not read whole");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  fuzz::may_refuse([&] { read_all(LlmcModel(fuzz::file_with(file))); });
  const auto start = file.first(std::min(size, static_cast<std::size_t>(llmc_header_bytes)));
  fuzz::may_refuse(
      [&] { (void)parse_llmc_header(start, std::numeric_limits<std::int64_t>::max(), "model.bin"); });
  return 0;
}
