#include "hf/hf_names.hpp"

#include <algorithm>

namespace shardgpt {

std::string canonical_hf_name(std::string_view name) {
  if (name.starts_with(hf_prefix) || name == hf_head_name) {
    return std::string(name);
  }
  return std::string(hf_prefix) + std::string(name);
}

bool is_mask_buffer(std::string_view name) {
  constexpr std::string_view block = "transformer.h.";
  if (!name.starts_with(block)) {
    return false;
  }
  name.remove_prefix(block.size());
  const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  const std::string_view rest = name.substr(digits);
  return digits > 0 && (rest == ".attn.bias" || rest == ".attn.masked_bias");
}

}  // namespace shardgpt
