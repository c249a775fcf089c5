#include "kernels/reference/adamw.hpp"

#include <cmath>
#include <cstdint>

namespace shardgpt::reference {

void adamw(const AdamWPiece& piece, const StepScalars& scalars) {
  if (scalars.applied == 0) {
    return;
  }
  const auto step = static_cast<double>(scalars.adam_step);
  const double correction1 = 1.0 - std::pow(piece.beta1, step);
  const double correction2 = 1.0 - std::pow(piece.beta2, step);
  for (std::int64_t i = 0; i < piece.count; ++i) {
    const double gradient = static_cast<double>(piece.grad[i]) * scalars.grad_scale;
    const double m = piece.beta1 * static_cast<double>(piece.adam_m[i]) + (1.0 - piece.beta1) * gradient;
    const double v =
        piece.beta2 * static_cast<double>(piece.adam_v[i]) + (1.0 - piece.beta2) * gradient * gradient;
    const double update = (m / correction1) / (std::sqrt(v / correction2) + piece.eps);
    const double decayed = static_cast<double>(piece.param[i]) * (1.0 - piece.lr * piece.weight_decay);
    piece.adam_m[i] = static_cast<float>(m);
    piece.adam_v[i] = static_cast<float>(v);
    piece.param[i] = static_cast<float>(decayed - piece.lr * update);
  }
}

}  // namespace shardgpt::reference
