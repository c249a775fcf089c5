#include "checkpoints/llmc_format.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "hf/hf_names.hpp"

namespace shardgpt {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian and copied as they are");

constexpr std::int32_t magic = 20240326;
constexpr std::int32_t version_f32 = 3;
constexpr std::int32_t version_bf16 = 5;
constexpr std::int64_t vocab_multiple = 128;
constexpr std::int64_t last_gpt2_token = 50256;  // end of text
constexpr double layer_norm_epsilon = 1e-5;      // built into llm.c

enum Word : std::size_t {
  word_magic,
  word_version,
  word_positions,
  word_vocab,
  word_layers,
  word_heads,
  word_embd,
  word_padded_vocab,
  word_count
};

std::int32_t word(std::span<const std::byte> start, std::size_t index) {
  std::int32_t value = 0;
  std::memcpy(&value, start.data() + index * sizeof value, sizeof value);
  return value;
}

WeightType type_of_version(std::int32_t version, const std::string& where) {
  SHARDGPT_REQUIRE(version == version_f32 || version == version_bf16,
                   where + ": version " + std::to_string(version) + " at byte 4, wanted " +
                       std::to_string(version_f32) + " (float32) or " + std::to_string(version_bf16) +
                       " (bfloat16)");
  return version == version_f32 ? WeightType::f32 : WeightType::bf16;
}

/// Elements of the tensors, counted without the table, which must not be made from an unchecked header.
std::int64_t file_elements(const LlmcHeader& header) {
  const ModelConfig& config = header.config;
  const std::int64_t width = config.embd;
  const std::int64_t block =
      checked_add(checked_mul(checked_mul<std::int64_t>(12, width), width), 13 * width);
  const std::int64_t tables = checked_mul(checked_add(header.padded_vocab, config.positions), width);
  return checked_add(checked_add(checked_mul(config.layers, block), tables), 2 * width);
}

}  // namespace

bool is_llmc_model(std::span<const std::byte> start) {
  return start.size() >= sizeof(std::int32_t) && word(start, word_magic) == magic;
}

LlmcHeader parse_llmc_header(std::span<const std::byte> start, std::int64_t file_bytes,
                             const std::string& where) {
  SHARDGPT_REQUIRE(is_llmc_model(start),
                   where + " is not a model of llm.c: it starts with " +
                       (start.size() >= 4 ? std::to_string(word(start, word_magic)) : "nothing") +
                       ", wanted the magic number " + std::to_string(magic));
  SHARDGPT_REQUIRE(narrow<std::int64_t>(start.size()) >= llmc_header_bytes,
                   where + " is cut short: " + std::to_string(file_bytes) + " bytes, the header has " +
                       std::to_string(llmc_header_bytes));
  LlmcHeader header;
  header.type = type_of_version(word(start, word_version), where);
  ModelConfig& config = header.config;
  config.positions = word(start, word_positions);
  config.vocab = word(start, word_vocab);
  config.layers = word(start, word_layers);
  config.heads = word(start, word_heads);
  config.embd = word(start, word_embd);
  config.layer_norm_epsilon = layer_norm_epsilon;
  config.bos_token = config.eos_token = llmc_end_of_text(config.vocab);
  header.padded_vocab = word(start, word_padded_vocab);
  try {
    config.validate();
  } catch (const InputError& error) {
    throw InputError(where + ": header: " + error.what());
  }
  SHARDGPT_REQUIRE(header.padded_vocab >= config.vocab,
                   where + ": the padded vocabulary size is " + std::to_string(header.padded_vocab) +
                       " at byte 28, the vocabulary size " + std::to_string(config.vocab));
  const std::int64_t wanted = llmc_file_bytes(header);
  SHARDGPT_REQUIRE(file_bytes == wanted, where + " has " + std::to_string(file_bytes) +
                                             " bytes, its header wants " + std::to_string(wanted) +
                                             ": the file is " +
                                             (file_bytes < wanted ? "cut short" : "too long"));
  return header;
}

LlmcHeader llmc_header_of(const ModelConfig& config, WeightType type) {
  SHARDGPT_REQUIRE(type != WeightType::f16, "llm.c reads float32 and bfloat16, not float16");
  SHARDGPT_REQUIRE(config.layer_norm_epsilon == layer_norm_epsilon,
                   "the model's layer-norm epsilon is " + std::to_string(config.layer_norm_epsilon) +
                       ", llm.c computes with 0.00001");
  return {config, round_up(config.vocab, vocab_multiple), type};
}

std::int64_t llmc_end_of_text(std::int64_t vocab) {
  return std::min(last_gpt2_token, vocab - 1);
}

std::string make_llmc_header(const LlmcHeader& header) {
  const ModelConfig& config = header.config;
  std::array<std::int32_t, word_count> words{};
  words[word_magic] = magic;
  words[word_version] = header.type == WeightType::f32 ? version_f32 : version_bf16;
  words[word_positions] = narrow<std::int32_t>(config.positions);
  words[word_vocab] = narrow<std::int32_t>(config.vocab);
  words[word_layers] = narrow<std::int32_t>(config.layers);
  words[word_heads] = narrow<std::int32_t>(config.heads);
  words[word_embd] = narrow<std::int32_t>(config.embd);
  words[word_padded_vocab] = narrow<std::int32_t>(header.padded_vocab);
  std::string bytes(static_cast<std::size_t>(llmc_header_bytes), '\0');
  std::memcpy(bytes.data(), words.data(), sizeof words);
  return bytes;
}

std::int64_t llmc_file_bytes(const LlmcHeader& header) {
  return checked_add(llmc_header_bytes, checked_mul(file_elements(header),
                                                    narrow<std::int64_t>(weight_type_bytes(header.type))));
}

std::vector<LlmcTensor> llmc_tensors(const TensorTable& table, const LlmcHeader& header) {
  std::vector<LlmcTensor> placed;
  std::int64_t at = llmc_header_bytes;
  const auto place = [&](const TensorSpec& tensor, bool transposed, std::int64_t pad_elements = 0) {
    placed.push_back(
        {static_cast<std::size_t>(&tensor - table.tensors().data()), at, pad_elements, transposed});
    at += (tensor.elements + pad_elements) * narrow<std::int64_t>(weight_type_bytes(header.type));
  };
  const ModelConfig& config = table.config();
  place(table.tensor(std::string(hf_embedding_name)), false,
        (header.padded_vocab - config.vocab) * config.embd);
  place(table.tensor("transformer.wpe.weight"), false);
  // A block's tensors stand in the table in llm.c's order.
  const auto blocks = table.units().subspan(1);
  for (std::size_t position = 0; position < table.tensors_of(blocks[0]).size(); ++position) {
    for (const UnitSpec& block : blocks) {
      const TensorSpec& tensor = table.tensors_of(block)[position];
      place(tensor, tensor.shape.size() == 2);
    }
  }
  place(table.tensor("transformer.ln_f.weight"), false);
  place(table.tensor("transformer.ln_f.bias"), false);
  return placed;
}

void transpose(std::span<const float> from, std::int64_t rows, std::int64_t cols, std::span<float> to) {
  constexpr std::int64_t tile = 32;  // 4 KiB each of reads and writes stay in the first cache
  for (std::int64_t row_begin = 0; row_begin < rows; row_begin += tile) {
    const std::int64_t row_end = std::min(rows, row_begin + tile);
    for (std::int64_t col_begin = 0; col_begin < cols; col_begin += tile) {
      const std::int64_t col_end = std::min(cols, col_begin + tile);
      for (std::int64_t col = col_begin; col < col_end; ++col) {
        for (std::int64_t row = row_begin; row < row_end; ++row) {
          to[static_cast<std::size_t>(col * rows + row)] = from[static_cast<std::size_t>(row * cols + col)];
        }
      }
    }
  }
}

}  // namespace shardgpt
