#pragma once

#include <vector>

#include "kernels/cpu/cpu_ops.hpp"
#include "ops_harness.hpp"

namespace shardgpt::test {

[[nodiscard]] Implementation make_cpu(DType dtype, const OpsLimits& limits, int threads = 2,
                                      const cpu::CpuOptions& options = {});

/// Every way in which this machine can run the CPU operations.
[[nodiscard]] std::vector<cpu::CpuOptions> all_cpu_options();

}  // namespace shardgpt::test
