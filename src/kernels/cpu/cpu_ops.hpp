#pragma once

#include <memory>

#include "kernels/cpu/cpu_context.hpp"
#include "kernels/ops.hpp"

namespace shardgpt::cpu {

/// make_cpu_ops with a given instruction set; tests run all that the machine has.
[[nodiscard]] std::unique_ptr<Ops> make_ops(Device& device, DType dtype, const OpsLimits& limits,
                                            const CpuOptions& options);

}  // namespace shardgpt::cpu
