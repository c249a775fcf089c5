// The choice on x86-64. Compiled for the baseline, like everything that runs before the choice is made.
#include "kernels/cpu/vector/dispatch.hpp"

namespace shardgpt::cpu {
namespace baseline {
[[nodiscard]] VectorKernels make_kernels();
}
namespace avx2 {
[[nodiscard]] VectorKernels make_kernels();
}
namespace avx512 {
[[nodiscard]] VectorKernels make_kernels();
}
namespace avx512_bf16 {
void use_bf16_dot(ElementKernels<std::uint16_t>& kernels);
}

std::vector<InstructionSet> available_instruction_sets() {
  std::vector<InstructionSet> sets{InstructionSet::baseline};
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2")) {
    return sets;
  }
  sets.push_back(InstructionSet::avx2);
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512vl")) {
    return sets;
  }
  sets.push_back(InstructionSet::avx512);
  if (__builtin_cpu_supports("avx512bf16")) {
    sets.push_back(InstructionSet::avx512_bf16);
  }
  return sets;
}

VectorKernels vector_kernels(InstructionSet set) {
  switch (set) {
    case InstructionSet::baseline:
      break;
    case InstructionSet::avx2:
      return avx2::make_kernels();
    case InstructionSet::avx512:
      return avx512::make_kernels();
    case InstructionSet::avx512_bf16: {
      VectorKernels kernels = avx512::make_kernels();
      kernels.name = "avx512_bf16";
      avx512_bf16::use_bf16_dot(kernels.bf16);
      return kernels;
    }
  }
  return baseline::make_kernels();
}

}  // namespace shardgpt::cpu
