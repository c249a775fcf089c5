// print_logits MODEL FILE TOKEN...: writes the logits of a sequence, float32 [tokens, vocabulary], to FILE:
// the forward pass of the project, for comparison with others.
#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include "checkpoints/forward_pass.hpp"
#include "checkpoints/weight_source.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "hf/binary_writer.hpp"

namespace {

using namespace shardgpt;

void print_logits(const std::filesystem::path& model, const std::filesystem::path& file,
                  const std::vector<std::int32_t>& tokens) {
  const auto source = open_weight_source(model);
  const TensorTable& table = source->table();
  const auto read_unit = [&](std::int64_t unit, std::span<float> values) {
    for (const TensorSpec& tensor : table.tensors_of(table.units()[static_cast<std::size_t>(unit)])) {
      auto at = values.begin() + tensor.offset;
      source->stream(tensor,
                     [&](std::span<const float> piece) { at = std::copy(piece.begin(), piece.end(), at); });
    }
  };
  const std::vector<float> logits = forward_logits(table, read_unit, tokens);
  BinaryWriter out(file);
  out.write(std::as_bytes(std::span(logits)));
  out.finish();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    SHARDGPT_REQUIRE(argc >= 4, "usage: print_logits MODEL FILE TOKEN...");
    std::vector<std::int32_t> tokens;
    for (int i = 3; i < argc; ++i) {
      tokens.push_back(std::stoi(argv[i]));
    }
    print_logits(argv[1], argv[2], tokens);
    return 0;
  } catch (const std::exception& error) {
    log_error(error.what());
    return 1;
  }
}
