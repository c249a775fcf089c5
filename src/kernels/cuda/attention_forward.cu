#include <cmath>

#include "kernels/cuda/attention_kernels.hpp"
#include "kernels/cuda/attention_rows.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/tensor_tile.cuh"

namespace shardgpt::cuda {
namespace {

constexpr float log2_e = 1.4426950408889634F;
constexpr float ln_2 = 0.6931471805599453F;

/// Tile sizes for heads padded to D channels. A warp owns 16 * row_tiles queries: with two, each fragment of
/// keys and values that is read serves two products, and all accumulators still fit the registers.
template <int D>
struct ForwardTiles {
  static constexpr int row_tiles = D <= 64 ? 2 : 1;
  static constexpr int warp_queries = 16 * row_tiles;
  static constexpr int queries = tile_warps * warp_queries;
  static constexpr int keys = 64;
  static constexpr std::size_t shared_bytes = tile_bytes<queries, D> + 4 * tile_bytes<keys, D>;
};

/// Softmax of 16 queries so far, two rows per thread: largest score (times log2 e) and this thread's part of
/// the denominator.
struct RunningRows {
  float largest[2] = {-INFINITY, -INFINITY};
  float sum[2] = {0, 0};
};

/// Turns scores into probabilities relative to the largest so far and rescales what was summed before.
/// `first_key` of the tile and `query` are positions, this thread's second row is query + 8.
template <int ScoreFragments, int OutFragments>
__device__ inline void softmax_tile(float (&scores)[ScoreFragments][4], float (&out)[OutFragments][4],
                                    RunningRows& rows, float scale, int first_key, int query, bool masked) {
  const int pair = lane_index() % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float largest = rows.largest[half];
#pragma unroll
    for (int n = 0; n < ScoreFragments; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores[n][2 * half + e];
        const int key = first_key + n * 8 + pair * 2 + e;
        score = masked && key > query + 8 * half ? -INFINITY : score * scale;
        largest = fmaxf(largest, score);
      }
    }
    largest = fmaxf(largest, __shfl_xor_sync(all_lanes, largest, 1));
    largest = fmaxf(largest, __shfl_xor_sync(all_lanes, largest, 2));
    const float rescale = exp2f(rows.largest[half] - largest);
    rows.largest[half] = largest;
    float sum = 0;
#pragma unroll
    for (int n = 0; n < ScoreFragments; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores[n][2 * half + e];
        score = exp2f(score - largest);
        sum += score;
      }
    }
    rows.sum[half] = rows.sum[half] * rescale + sum;
#pragma unroll
    for (int n = 0; n < OutFragments; ++n) {
      out[n][2 * half] *= rescale;
      out[n][2 * half + 1] *= rescale;
    }
  }
}

/// A block owns a tile of queries of one head and walks over its tiles of keys; the next tile is copied while
/// the current one is worked on. Blocks with most keys start first.
template <int D>
__global__ void __launch_bounds__(tile_threads) attention_forward_kernel(AttentionArgs<__nv_bfloat16> a) {
  using Tiles = ForwardTiles<D>;
  constexpr int row_tiles = Tiles::row_tiles;
  constexpr int score_fragments = Tiles::keys / 8;
  constexpr int stage_elements = 2 * Tiles::keys * tile_stride<D>;
  SHARDGPT_DYNAMIC_SHARED(__nv_bfloat16, shared);
  __nv_bfloat16* query_tile = shared;
  __nv_bfloat16* stages = shared + Tiles::queries * tile_stride<D>;

  const HeadRows head = head_rows(a, block_index());
  const int first_query = static_cast<int>(gridDim.y - 1 - blockIdx.y) * Tiles::queries;
  const int last_query = min(first_query + Tiles::queries, a.seq_len) - 1;
  const int key_tiles = last_query / Tiles::keys + 1;
  const auto copy_stage = [&](int tile) {
    __nv_bfloat16* stage = stages + tile % 2 * stage_elements;
    const int first_key = tile * Tiles::keys;
    copy_tile<Tiles::keys, D>(stage, a.qkv + head.qkv(first_key, 1), head.qkv_stride(), a.seq_len - first_key,
                              a.head_dim);
    copy_tile<Tiles::keys, D>(stage + stage_elements / 2, a.qkv + head.qkv(first_key, 2), head.qkv_stride(),
                              a.seq_len - first_key, a.head_dim);
    cp_async_commit();
  };
  copy_tile<Tiles::queries, D>(query_tile, a.qkv + head.qkv(first_query, 0), head.qkv_stride(),
                               a.seq_len - first_query, a.head_dim);
  cp_async_commit();
  copy_stage(0);
  cp_async_wait<1>();
  __syncthreads();

  const int warp_row = warp_index() * Tiles::warp_queries;
  const int warp_query = first_query + warp_row;
  std::uint32_t queries[row_tiles][D / 16][4];
#pragma unroll
  for (int m = 0; m < row_tiles; ++m) {
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
      load_rows<D>(queries[m][k], query_tile + (warp_row + m * 16) * tile_stride<D>, k * 16);
    }
  }
  const float scale = log2_e / sqrtf(static_cast<float>(a.head_dim));
  const int group = lane_index() / 4;
  float out[row_tiles][D / 8][4] = {};
  RunningRows rows[row_tiles];

  for (int tile = 0; tile < key_tiles; ++tile) {
    if (tile + 1 < key_tiles) {
      copy_stage(tile + 1);
      cp_async_wait<1>();
    } else {
      cp_async_wait<0>();
    }
    __syncthreads();
    const int first_key = tile * Tiles::keys;
    if (first_key < warp_query + Tiles::warp_queries) {  // else all of it is masked for this warp
      const __nv_bfloat16* keys = stages + tile % 2 * stage_elements;
      const __nv_bfloat16* values = keys + stage_elements / 2;
      float scores[row_tiles][score_fragments][4] = {};
#pragma unroll
      for (int k = 0; k < D / 16; ++k) {
#pragma unroll
        for (int n = 0; n < score_fragments; n += 2) {
          std::uint32_t b0[2];
          std::uint32_t b1[2];
          load_transposed<D>(b0, b1, keys + n * 8 * tile_stride<D>, k * 16);
#pragma unroll
          for (int m = 0; m < row_tiles; ++m) {
            mma_m16n8k16_bf16(scores[m][n], queries[m][k], b0);
            mma_m16n8k16_bf16(scores[m][n + 1], queries[m][k], b1);
          }
        }
      }
      const bool masked = first_key + Tiles::keys > warp_query;
#pragma unroll
      for (int m = 0; m < row_tiles; ++m) {
        softmax_tile(scores[m], out[m], rows[m], scale, first_key, warp_query + m * 16 + group, masked);
      }
#pragma unroll
      for (int k = 0; k < Tiles::keys / 16; ++k) {
        std::uint32_t probabilities[row_tiles][4];
#pragma unroll
        for (int m = 0; m < row_tiles; ++m) {
          as_rows(probabilities[m], scores[m][2 * k], scores[m][2 * k + 1]);
        }
#pragma unroll
        for (int n = 0; n < D / 8; n += 2) {
          std::uint32_t b0[2];
          std::uint32_t b1[2];
          load_columns<D>(b0, b1, values + k * 16 * tile_stride<D>, n * 8);
#pragma unroll
          for (int m = 0; m < row_tiles; ++m) {
            mma_m16n8k16_bf16(out[m][n], probabilities[m], b0);
            mma_m16n8k16_bf16(out[m][n + 1], probabilities[m], b1);
          }
        }
      }
    }
    __syncthreads();  // the next round's copy overwrites this stage
  }

#pragma unroll
  for (int m = 0; m < row_tiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = rows[m].sum[half];
      sum += __shfl_xor_sync(all_lanes, sum, 1);
      sum += __shfl_xor_sync(all_lanes, sum, 2);
      const int query = warp_query + m * 16 + group + 8 * half;
      if (query < a.seq_len) {
        store_half(a.out + head.out(query), out[m], half, 1.0F / sum, a.head_dim);
        if (lane_index() % 4 == 0) {
          a.lse[head.first_lse + query] = rows[m].largest[half] * ln_2 + logf(sum);
        }
      }
    }
  }
}

template <int D>
void forward(cudaStream_t stream, const AttentionArgs<__nv_bfloat16>& args) {
  using Tiles = ForwardTiles<D>;
  launch(attention_forward_kernel<D>,
         extent(args.sequences * args.heads, ceil_div(args.seq_len, Tiles::queries)), extent(tile_threads),
         Tiles::shared_bytes, stream, args);
}

}  // namespace

void tensor_attention_forward(cudaStream_t stream, const AttentionArgs<__nv_bfloat16>& args) {
  if (args.sequences == 0) {
    return;
  }
  if (args.head_dim <= 64) {
    forward<64>(stream, args);
  } else {
    forward<128>(stream, args);
  }
}

}  // namespace shardgpt::cuda
