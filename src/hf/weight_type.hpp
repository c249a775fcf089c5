#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace shardgpt {

/// Element types of weights that are read and written. Safetensors knows more; those are refused.
enum class WeightType { f32, bf16, f16 };

[[nodiscard]] std::size_t weight_type_bytes(WeightType type);
/// "F32", "BF16", "F16": safetensors.
[[nodiscard]] std::string_view safetensors_name(WeightType type);
/// "float32", "bfloat16", "float16": Hugging Face's torch_dtype.
[[nodiscard]] std::string_view torch_name(WeightType type);
[[nodiscard]] std::optional<WeightType> weight_type_of(std::string_view safetensors_name);

/// IEEE binary16 from a float: to nearest, ties to even; sub-normals kept; too large becomes infinite.
[[nodiscard]] std::uint16_t float_to_half(float value);
/// Exact.
[[nodiscard]] float half_to_float(std::uint16_t half);

/// Little-endian elements to floats, exactly. `bytes` may be unaligned and holds values.size() elements.
void decode_weights(WeightType type, std::span<const std::byte> bytes, std::span<float> values);

/// The other way, rounded to nearest even. Throws InputError where a finite value would become infinite;
/// `name` is the tensor's.
void encode_weights(WeightType type, std::span<const float> values, std::span<std::byte> bytes,
                    const std::string& name);

}  // namespace shardgpt
