// The choice on architectures for which only the baseline is compiled.
#include "kernels/cpu/vector/dispatch.hpp"

namespace shardgpt::cpu {
namespace baseline {
[[nodiscard]] VectorKernels make_kernels();
}

std::vector<InstructionSet> available_instruction_sets() {
  return {InstructionSet::baseline};
}

VectorKernels vector_kernels(InstructionSet /*set*/) {
  return baseline::make_kernels();
}

}  // namespace shardgpt::cpu
