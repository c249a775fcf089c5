#include "kernels/cuda/element.cuh"
#include "kernels/cuda/grid.cuh"
#include "kernels/cuda/row_kernels.hpp"

namespace shardgpt::cuda {
namespace {

constexpr int sum_warps = 8;
constexpr int block_columns = warp_lanes * vector_size;
static_assert(block_columns == sum_warps * warp_lanes, "in the end each thread adds up one column");

/// A block sums column_part_rows rows of 256 columns: each warp every eighth row, each lane eight columns.
template <class T>
__global__ void __launch_bounds__(sum_warps* warp_lanes)
    column_sums_kernel(std::int64_t rows, std::int64_t cols, const T* values, float* parts) {
  SHARDGPT_SHARED_ARRAY(float, warp_sums, [sum_warps][block_columns]);
  const std::int64_t first_column = block_index() * block_columns;
  const std::int64_t column = first_column + lane_index() * vector_size;
  const std::int64_t part = static_cast<std::int64_t>(blockIdx.y);
  const std::int64_t first = part * column_part_rows;
  const std::int64_t last = first + column_part_rows < rows ? first + column_part_rows : rows;
  Vector8 sum{};
  if (column < cols) {
#pragma unroll 4
    for (std::int64_t row = first + warp_index(); row < last; row += sum_warps) {
      add8(sum, load8(values + row * cols + column));
    }
  }
  store8(&warp_sums[warp_index()][lane_index() * vector_size], sum);
  __syncthreads();
  const std::int64_t own_column = first_column + thread_index();
  if (own_column < cols) {
    float total = 0;
    for (int warp = 0; warp < sum_warps; ++warp) {
      total += warp_sums[warp][thread_index()];
    }
    parts[part * cols + own_column] = total;
  }
}

constexpr int lanes_per_column = 16;

/// 32 columns per block; 16 threads share a column.
__global__ void __launch_bounds__(lanes_per_column* warp_lanes)
    sum_parts_kernel(std::int64_t count, const float* parts, SumTarget target) {
  SHARDGPT_SHARED_ARRAY(float, sums, [lanes_per_column][warp_lanes]);
  const std::int64_t cols = target.first_count + target.second_count;
  const std::int64_t column = block_index() * warp_lanes + lane_index();
  float sum = 0;
  if (column < cols) {
#pragma unroll 4
    for (std::int64_t part = warp_index(); part < count; part += lanes_per_column) {
      sum += parts[part * cols + column];
    }
  }
  sums[warp_index()][lane_index()] = sum;
  __syncthreads();
  if (warp_index() == 0 && column < cols) {
    for (int other = 1; other < lanes_per_column; ++other) {
      sum += sums[other][lane_index()];
    }
    float* to =
        column < target.first_count ? target.first + column : target.second + (column - target.first_count);
    *to = target.write == Write::accumulate ? *to + sum : sum;
  }
}

}  // namespace

template <class T>
void column_sums(cudaStream_t stream, std::int64_t rows, std::int64_t cols, const T* values, float* parts) {
  if (rows > 0 && cols > 0) {
    const std::int64_t blocks = ceil_div(cols, std::int64_t{block_columns});
    launch(column_sums_kernel<T>, extent(blocks, ceil_div(rows, column_part_rows)),
           extent(sum_warps * warp_lanes), 0, stream, rows, cols, values, parts);
  }
}

void sum_parts(cudaStream_t stream, std::int64_t count, const float* parts, const SumTarget& target) {
  const std::int64_t cols = target.first_count + target.second_count;
  if (cols > 0) {
    launch(sum_parts_kernel, extent(ceil_div(cols, std::int64_t{warp_lanes})),
           extent(lanes_per_column * warp_lanes), 0, stream, count, parts, target);
  }
}

template void column_sums(cudaStream_t, std::int64_t, std::int64_t, const float*, float*);
template void column_sums(cudaStream_t, std::int64_t, std::int64_t, const __nv_bfloat16*, float*);

}  // namespace shardgpt::cuda
