#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cpu/matrix_products.hpp"
#include "kernels/cpu/vector/dispatch.hpp"
#include "kernels/ops.hpp"

namespace shardgpt::cpu {

/// How a set of CPU operations computes; the default is the best of this machine. Tests choose others.
struct CpuOptions {
  InstructionSet instruction_set = available_instruction_sets().back();
  Bf16Products bf16_products =
      has_native_bf16_products() ? Bf16Products::native : Bf16Products::through_float;
};

/// Rows that share one partial sum. Fixed, so that the sums do not depend on the number of threads.
inline constexpr std::int64_t rows_per_part = 64;
inline constexpr std::int64_t norm_parts = 1024;

/// Elements from one row to the next of a transposed activation of `rows` rows: an odd number of cache lines,
/// because a power of two would put a column into few sets of the cache.
[[nodiscard]] constexpr std::int64_t transposed_stride(std::int64_t rows) {
  return (rows + 31) / 32 % 2 == 1 ? (rows + 31) / 32 * 32 : ((rows + 31) / 32 + 1) * 32;
}

/// What the operations share: kernels, products, and all scratch memory, sized for the limits at
/// construction. Used on the compute thread only, by one operation at a time.
struct CpuContext {
  CpuContext(Device& device, DType dtype, const OpsLimits& limits, const CpuOptions& options);

  VectorKernels vector;
  MatrixProducts products;
  DType dtype;
  int threads;                    ///< of the compute stream
  std::int64_t group_rows;        ///< tokens whose logit gradients are kept for one product
  std::int64_t logit_rows;        ///< tokens whose float logits are kept at a time
  std::int64_t attention_floats;  ///< of one thread's part of `attention`
  Buffer partial_sums;            ///< float, one row per rows_per_part rows
  Buffer attention;               ///< float [threads, attention_floats]
  Buffer logits;                  ///< float [logit_rows, padded vocabulary]
  Buffer dlogits;        ///< bf16 [group_rows, padded vocabulary]; empty for f32, which reuses `logits`
  Buffer losses;         ///< double [group_rows]
  Buffer transposed_in;  ///< bf16 [4C, transposed_stride(tokens)]; empty where products do not run on bf16
  Buffer packed_wte;     ///< bf16, wte in oneDNN's layout; empty likewise
  Buffer norms;          ///< double [norm_parts]
};

/// The vector code's view of element type T: float, or bf16 as its bits.
template <class T>
[[nodiscard]] const ElementKernels<T>& element_kernels(const CpuContext& context) {
  if constexpr (std::is_same_v<T, float>) {
    return context.vector.f32;
  } else {
    return context.vector.bf16;
  }
}

template <class T>
[[nodiscard]] T* elements(const Matrix& matrix) {
  return static_cast<T*>(matrix.data);
}

}  // namespace shardgpt::cpu
