#pragma once

#include <cstdint>
#include <vector>

namespace shardgpt {

/// Label that means "no target here": it adds nothing to loss, gradient or target count.
inline constexpr std::int32_t no_target = -100;

/// The sequences that one rank trains on in one optimizer step, in batch order.
struct Batch {
  std::int64_t rows = 0;              ///< sequences; may be 0
  std::int64_t seq_len = 0;           ///< tokens per sequence, T
  std::vector<std::int32_t> inputs;   ///< [rows, T] token ids
  std::vector<std::int32_t> targets;  ///< [rows, T] token ids, or no_target
};

/// Where the training loop and the evaluation get their rows from. Local, no collective.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  /// This rank's rows of batch `step` (0-based). A pure function of `step`; callers usually ask in rising
  /// order, and an implementation may prefetch on that guess. Throws Error where the data cannot be read.
  [[nodiscard]] virtual Batch batch(std::int64_t step) = 0;
};

}  // namespace shardgpt
