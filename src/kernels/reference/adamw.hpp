#pragma once

#include "kernels/ops.hpp"

namespace shardgpt::reference {

/// Ops::adamw in double, rounded when stored.
void adamw(const AdamWPiece& piece, const StepScalars& scalars);

}  // namespace shardgpt::reference
