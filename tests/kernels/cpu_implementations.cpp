#include "cpu_implementations.hpp"

namespace shardgpt::test {

Implementation make_cpu(DType dtype, const OpsLimits& limits, int threads, const cpu::CpuOptions& options) {
  Implementation made{cpu::vector_kernels(options.instruction_set).name,
                      make_host_device({.compute_threads = threads, .hooks = nullptr}), nullptr};
  made.ops = cpu::make_ops(*made.device, dtype, limits, options);
  return made;
}

std::vector<cpu::CpuOptions> all_cpu_options() {
  std::vector<cpu::CpuOptions> all;
  for (const cpu::InstructionSet set : cpu::available_instruction_sets()) {
    all.push_back({set, cpu::Bf16Products::through_float});
  }
  if (cpu::has_native_bf16_products()) {
    all.push_back({cpu::available_instruction_sets().back(), cpu::Bf16Products::native});
  }
  return all;
}

std::vector<Implementation> tested_implementations(DType dtype, const OpsLimits& limits) {
  std::vector<Implementation> tested;
  for (const cpu::CpuOptions& options : all_cpu_options()) {
    tested.push_back(make_cpu(dtype, limits, 2, options));
  }
  return tested;
}

}  // namespace shardgpt::test
