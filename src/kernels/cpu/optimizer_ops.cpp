#include "kernels/cpu/optimizer_ops.hpp"

#include <algorithm>
#include <cmath>

#include "core/checked.hpp"
#include "kernels/cpu/parallel.hpp"

namespace shardgpt::cpu {

double norm_squared(const CpuContext& context, const float* values, std::int64_t count) {
  const std::int64_t part_size = round_up(ceil_div(count, norm_parts), std::int64_t{64});
  const std::int64_t parts = count == 0 ? 0 : ceil_div(count, part_size);
  auto* sums = context.norms.as<double>();
  parallel_for(parts, part_size, [&](std::int64_t part, int) {
    const std::int64_t first = part * part_size;
    sums[part] = context.vector.sum_of_squares(std::min(part_size, count - first), values + first);
  });
  double sum = 0;
  for (std::int64_t part = 0; part < parts; ++part) {
    sum += sums[part];
  }
  return sum;
}

void adamw(const CpuContext& context, const AdamWPiece& piece, const StepScalars& scalars) {
  if (scalars.applied == 0) {
    return;
  }
  const auto step = static_cast<double>(scalars.adam_step);
  AdamWCoefficients coefficients;
  coefficients.grad_scale = static_cast<float>(scalars.grad_scale);
  coefficients.beta1 = static_cast<float>(piece.beta1);
  coefficients.beta2 = static_cast<float>(piece.beta2);
  coefficients.one_minus_beta1 = static_cast<float>(1.0 - piece.beta1);
  coefficients.one_minus_beta2 = static_cast<float>(1.0 - piece.beta2);
  coefficients.step_size = static_cast<float>(piece.lr / (1.0 - std::pow(piece.beta1, step)));
  coefficients.inverse_correction2 = static_cast<float>(1.0 / (1.0 - std::pow(piece.beta2, step)));
  coefficients.eps = static_cast<float>(piece.eps);
  coefficients.decay = static_cast<float>(piece.lr * piece.weight_decay);
  parallel_ranges(piece.count, 1, [&](std::int64_t first, std::int64_t last, int) {
    context.vector.adamw(last - first, coefficients, piece.grad + first, piece.param + first,
                         piece.adam_m + first, piece.adam_v + first);
  });
}

}  // namespace shardgpt::cpu
