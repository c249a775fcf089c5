#pragma once

#include <string>
#include <vector>

#include "op_cases.hpp"

namespace shardgpt::test {

/// Checks that results differ from the reference's by no more than rounding does: float sums differ in order,
/// bf16 results in a rounding that may go either way, and what bf16 rounds inside (probabilities, logit
/// gradients) reaches the wide results too.
void check_close(const std::vector<Result>& actual, const std::vector<Result>& expected, DType dtype,
                 const std::string& where);

/// Every operation of every tested implementation against the reference, at each of the sizes.
void agree_with_reference(DType dtype, const std::vector<CaseSizes>& sizes);

}  // namespace shardgpt::test
