#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "hf/binary_reader.hpp"
#include "hf/binary_writer.hpp"
#include "hf/weight_type.hpp"

namespace shardgpt {

/// values.size() elements of `type` from byte `offset` of the file on, as floats, exactly. Holds a piece of
/// at most 2 MiB beside `values`.
void read_weights(const BinaryReader& file, std::int64_t offset, WeightType type, std::span<float> values);

/// Appends `values` as `type`, rounded to nearest even. Throws InputError naming the tensor `name` where a
/// finite value would become infinite.
void append_weights(BinaryWriter& file, WeightType type, std::span<const float> values,
                    const std::string& name);

}  // namespace shardgpt
