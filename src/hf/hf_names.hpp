#pragma once

#include <string>
#include <string_view>

namespace shardgpt {

inline constexpr std::string_view hf_prefix = "transformer.";
inline constexpr std::string_view hf_head_name = "lm_head.weight";
inline constexpr std::string_view hf_embedding_name = "transformer.wte.weight";

/// The table's name of a tensor in a GPT-2 file, whose names may lack "transformer.".
[[nodiscard]] std::string canonical_hf_name(std::string_view name);

/// Whether a (canonical) name is a causal mask that older versions of transformers stored.
[[nodiscard]] bool is_mask_buffer(std::string_view canonical_name);

}  // namespace shardgpt
