#pragma once

#include <vector>

#include "kernels/cpu/vector/vector_kernels.hpp"

namespace shardgpt::cpu {

/// Instruction sets that the vector kernels are compiled for; beyond baseline on x86-64 only.
enum class InstructionSet { baseline, avx2, avx512, avx512_bf16 };

/// Those that this machine runs, in rising order; never empty.
[[nodiscard]] std::vector<InstructionSet> available_instruction_sets();
/// The table of one of them.
[[nodiscard]] VectorKernels vector_kernels(InstructionSet set);

}  // namespace shardgpt::cpu
