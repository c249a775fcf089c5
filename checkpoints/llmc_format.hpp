#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hf/weight_type.hpp"
#include "model/tensor_table.hpp"

namespace shardgpt {

/// The model file of llm.c (github.com/karpathy/llm.c: train_gpt2.py write_model, train_gpt2.cu
/// gpt2_write_to_checkpoint): 256 little-endian int32, then the tensors without gaps, all in one element
/// type: wte [padded vocabulary, C], wpe, then each of a block's twelve tensors for all layers, then ln_f.
/// Linear weights are [out, in], as PyTorch's Linear stores them: transposed against the tensor table.
inline constexpr std::int64_t llmc_header_bytes = 1024;

struct LlmcHeader {
  ModelConfig config;                 ///< token ids are GPT-2's, as far as the vocabulary goes
  std::int64_t padded_vocab = 0;      ///< rows of wte; those above config.vocab mean nothing
  WeightType type = WeightType::f32;  ///< f32 is version 3, bf16 version 5
};

/// Whether a file starts with the magic number 20240326.
[[nodiscard]] bool is_llmc_model(std::span<const std::byte> start);

/// Reads and checks the header at the start of a file of `file_bytes` bytes: magic, version, sizes, and that
/// the file has exactly the bytes that they want. Throws InputError that starts with `where` and says what
/// was found and what was wanted.
[[nodiscard]] LlmcHeader parse_llmc_header(std::span<const std::byte> start, std::int64_t file_bytes,
                                           const std::string& where);

/// The header of an export, the vocabulary padded to a multiple of 128 as llm.c does. Throws InputError for a
/// model that llm.c does not compute: its layer-norm epsilon is 1e-5. `type` is f32 or bf16.
[[nodiscard]] LlmcHeader llmc_header_of(const ModelConfig& config, WeightType type);

/// What an import of a model of this size takes for its token ids, of which the file has none: GPT-2's end of
/// text, or the last id of a smaller vocabulary.
[[nodiscard]] std::int64_t llmc_end_of_text(std::int64_t vocab);

/// The header's 1024 bytes.
[[nodiscard]] std::string make_llmc_header(const LlmcHeader& header);

/// Bytes of the whole file.
[[nodiscard]] std::int64_t llmc_file_bytes(const LlmcHeader& header);

/// Where a tensor of the table stands in the file.
struct LlmcTensor {
  std::size_t index = 0;          ///< into TensorTable::tensors()
  std::int64_t first_byte = 0;    ///< in the file
  std::int64_t pad_elements = 0;  ///< zeros behind it: the vocabulary padding
  bool transposed = false;        ///< stored [out, in], in the table [in, out]
};

/// All tensors in the order of the file.
[[nodiscard]] std::vector<LlmcTensor> llmc_tensors(const TensorTable& table, const LlmcHeader& header);

/// to[c, r] = from[r, c], both row-major; from is [rows, cols].
void transpose(std::span<const float> from, std::int64_t rows, std::int64_t cols, std::span<float> to);

}  // namespace shardgpt
