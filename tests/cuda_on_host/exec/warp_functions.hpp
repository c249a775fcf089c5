#pragma once

/// The warp's collective operations, on 64-bit patterns and fragments; called by the stand-ins of the
/// intrinsics.

#include <cstdint>

#include "tests/cuda_on_host/exec/source_place.hpp"

namespace cuda_on_host {

/// The value that `source_lane` gave; every bit set if that lane is not in the mask.
std::uint64_t exchange(std::uint32_t mask, std::uint64_t value, unsigned source_lane,
                       const SourcePlace& where);
/// A bit for each lane of the mask whose predicate holds.
std::uint32_t ballot(std::uint32_t mask, bool predicate, const SourcePlace& where);
/// See device/cuda/warp_mma.cuh. The sum over k is in ascending order.
void multiply_accumulate(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                         const SourcePlace& where);
void load_matrices(std::uint32_t (&r)[4], const void* shared_row, bool transposed, const SourcePlace& where);

/// The calling thread's place in its warp.
unsigned lane_of_thread();

}  // namespace cuda_on_host
