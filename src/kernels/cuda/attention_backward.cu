#include "kernels/cuda/attention_kernels.hpp"
#include "kernels/cuda/attention_rows.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/tensor_tile.cuh"

namespace shardgpt::cuda {
namespace {

constexpr float log2_e = 1.4426950408889634F;
constexpr int own_rows = 16 * tile_warps;  // keys (or queries) that a block owns, sixteen per warp

/// The tile that a block walks over, for heads padded to D channels: with larger heads fewer rows, so that
/// the accumulators fit the registers.
template <int D>
inline constexpr int walked_rows = D <= 64 ? 64 : 16;

/// Two tiles of the owned rows, then two stages of two walked tiles.
template <int D>
inline constexpr std::size_t tiles_bytes = 2 * tile_bytes<own_rows, D> + 4 * tile_bytes<walked_rows<D>, D>;

/// Left operands of a warp's sixteen owned rows: kept in registers, or with large heads, whose accumulators
/// need these, read from shared memory each time.
template <int D>
class OwnRows {
 public:
  __device__ explicit OwnRows(const __nv_bfloat16* tile) : tile_(tile) {
    if constexpr (kept) {
#pragma unroll
      for (int k = 0; k < D / 16; ++k) {
        load_rows<D>(rows_[k], tile, k * 16);
      }
    }
  }
  /// Channels from 16 * k on.
  __device__ void get(std::uint32_t (&a)[4], int k) const {
    if constexpr (kept) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        a[i] = rows_[k][i];
      }
    } else {
      load_rows<D>(a, tile_, k * 16);
    }
  }

 private:
  static constexpr bool kept = D <= 64;
  const __nv_bfloat16* tile_;
  std::uint32_t rows_[kept ? D / 16 : 1][4];
};

/// 16 owned rows of two tiles times the transposes of two walked tiles, D channels summed over:
/// first += own_first * walked_first^T and second += own_second * walked_second^T.
template <int D, int Fragments>
__device__ inline void multiply_both(float (&first)[Fragments][4], float (&second)[Fragments][4],
                                     const OwnRows<D>& own_first, const OwnRows<D>& own_second,
                                     const __nv_bfloat16* walked_first, const __nv_bfloat16* walked_second) {
#pragma unroll
  for (int k = 0; k < D / 16; ++k) {
    std::uint32_t a_first[4];
    std::uint32_t a_second[4];
    own_first.get(a_first, k);
    own_second.get(a_second, k);
#pragma unroll
    for (int n = 0; n < Fragments; n += 2) {
      std::uint32_t b0[2];
      std::uint32_t b1[2];
      load_transposed<D>(b0, b1, walked_first + n * 8 * tile_stride<D>, k * 16);
      mma_m16n8k16_bf16(first[n], a_first, b0);
      mma_m16n8k16_bf16(first[n + 1], a_first, b1);
      load_transposed<D>(b0, b1, walked_second + n * 8 * tile_stride<D>, k * 16);
      mma_m16n8k16_bf16(second[n], a_second, b0);
      mma_m16n8k16_bf16(second[n + 1], a_second, b1);
    }
  }
}

/// sum += factors * walked: [16, rows of the walked tile] times [rows, D], the factors rounded to bf16.
template <int D, int Fragments>
__device__ inline void add_product(float (&sum)[D / 8][4], const float (&factors)[Fragments][4],
                                   const __nv_bfloat16* walked) {
#pragma unroll
  for (int k = 0; k < Fragments / 2; ++k) {
    std::uint32_t a[4];
    as_rows(a, factors[2 * k], factors[2 * k + 1]);
#pragma unroll
    for (int n = 0; n < D / 8; n += 2) {
      std::uint32_t b0[2];
      std::uint32_t b1[2];
      load_columns<D>(b0, b1, walked + k * 16 * tile_stride<D>, n * 8);
      mma_m16n8k16_bf16(sum[n], a, b0);
      mma_m16n8k16_bf16(sum[n + 1], a, b1);
    }
  }
}

/// What both kernels share: the head, the owned rows, and the two stages of walked tiles.
template <int D>
struct BackwardBlock {
  static constexpr int walked = walked_rows<D>;

  const AttentionArgs<__nv_bfloat16>& a;
  HeadRows head;
  __nv_bfloat16* own;     ///< two tiles
  __nv_bfloat16* stages;  ///< two stages of two tiles
  int first_own;          ///< position of the first owned row

  __device__ BackwardBlock(const AttentionArgs<__nv_bfloat16>& args, __nv_bfloat16* shared, int own_tile)
      : a(args),
        head(head_rows(args, block_index())),
        own(shared),
        stages(shared + 2 * own_rows * tile_stride<D>),
        first_own(own_tile * own_rows) {}

  [[nodiscard]] __device__ __nv_bfloat16* stage(int tile, int which) const {
    return stages + (tile % 2 * 2 + which) * walked * tile_stride<D>;
  }
  /// Rows `first` on of q, k or v (`which` 0, 1, 2), or of dout (3).
  template <int Rows>
  __device__ void copy(__nv_bfloat16* tile, int first, int which) const {
    const __nv_bfloat16* from = which == 3 ? a.dout + head.out(first) : a.qkv + head.qkv(first, which);
    copy_tile<Rows, D>(tile, from, which == 3 ? head.channels : head.qkv_stride(), a.seq_len - first,
                       a.head_dim);
  }
  /// This warp's rows of an owned tile.
  [[nodiscard]] __device__ OwnRows<D> own_rows_of(int which) const {
    return OwnRows<D>(own + (which * own_rows + warp_index() * 16) * tile_stride<D>);
  }
  /// Stores this thread's part of a gradient of q, k or v.
  __device__ void store(const float (&gradient)[D / 8][4], int which, float factor) const {
    const int row = first_own + warp_index() * 16 + lane_index() / 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (row + 8 * half < a.seq_len) {
        store_half(a.dqkv + head.qkv(row + 8 * half, which), gradient, half, factor, a.head_dim);
      }
    }
  }
};

/// A block owns a tile of keys of one head and walks over the queries that see them. Scores are held
/// transposed, [keys, queries], so that they are the left operand of dv += P^T dout and dk += dS^T q.
template <int D>
__global__ void __launch_bounds__(tile_threads) key_gradients_kernel(AttentionArgs<__nv_bfloat16> a) {
  constexpr int walked = walked_rows<D>;
  SHARDGPT_DYNAMIC_SHARED(__nv_bfloat16, shared);
  SHARDGPT_SHARED_ARRAY(float, lse_stages, [2][walked]);  // times log2 e
  SHARDGPT_SHARED_ARRAY(float, delta_stages, [2][walked]);
  const BackwardBlock<D> block(a, shared, static_cast<int>(blockIdx.y));
  const auto copy_stage = [&](int tile) {
    const int first = tile * walked;
    block.template copy<walked>(block.stage(tile, 0), first, 0);
    block.template copy<walked>(block.stage(tile, 1), first, 3);
    cp_async_commit();
    if (thread_index() < walked) {
      const int query = first + thread_index();
      const bool valid = query < a.seq_len;
      lse_stages[tile % 2][thread_index()] = valid ? a.lse[block.head.first_lse + query] * log2_e : 0.0F;
      delta_stages[tile % 2][thread_index()] = valid ? a.delta[block.head.first_lse + query] : 0.0F;
    }
  };
  const int first_tile = block.first_own / walked;
  const int tiles = (a.seq_len + walked - 1) / walked;
  block.template copy<own_rows>(block.own, block.first_own, 1);
  block.template copy<own_rows>(block.own + own_rows * tile_stride<D>, block.first_own, 2);
  cp_async_commit();
  copy_stage(first_tile);
  cp_async_wait<1>();
  __syncthreads();
  const OwnRows<D> keys = block.own_rows_of(0);
  const OwnRows<D> values = block.own_rows_of(1);

  const float scale = 1.0F / sqrtf(static_cast<float>(a.head_dim));
  const int warp_key = block.first_own + warp_index() * 16;
  const int key = warp_key + lane_index() / 4;  // and key + 8
  const int pair = lane_index() % 4;
  float dk[D / 8][4] = {};
  float dv[D / 8][4] = {};
  for (int tile = first_tile; tile < tiles; ++tile) {
    if (tile + 1 < tiles) {
      copy_stage(tile + 1);
      cp_async_wait<1>();
    } else {
      cp_async_wait<0>();
    }
    __syncthreads();
    const int first_query = tile * walked;
    if (first_query + walked > warp_key) {  // else no query of the tile sees a key of this warp
      const __nv_bfloat16* queries = block.stage(tile, 0);
      const __nv_bfloat16* dout = block.stage(tile, 1);
      float p[walked / 8][4] = {};
      float ds[walked / 8][4] = {};
      multiply_both(p, ds, keys, values, queries, dout);
#pragma unroll
      for (int n = 0; n < walked / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int column = n * 8 + pair * 2 + e % 2;
          const bool seen = key + e / 2 * 8 <= first_query + column;
          const float exponent = p[n][e] * (scale * log2_e) - lse_stages[tile % 2][column];
          p[n][e] = seen ? exp2f(exponent) : 0.0F;
          ds[n][e] = p[n][e] * (ds[n][e] - delta_stages[tile % 2][column]);
        }
      }
      add_product<D>(dv, p, dout);
      add_product<D>(dk, ds, queries);
    }
    __syncthreads();  // the next round's copy overwrites this stage
  }
  block.store(dk, 1, scale);
  block.store(dv, 2, 1.0F);
}

/// A block owns a tile of queries of one head and walks over the keys that they see: dq += dS k. Blocks with
/// most keys start first.
template <int D>
__global__ void __launch_bounds__(tile_threads) query_gradients_kernel(AttentionArgs<__nv_bfloat16> a) {
  constexpr int walked = walked_rows<D>;
  SHARDGPT_DYNAMIC_SHARED(__nv_bfloat16, shared);
  const BackwardBlock<D> block(a, shared, static_cast<int>(gridDim.y - 1 - blockIdx.y));
  const auto copy_stage = [&](int tile) {
    block.template copy<walked>(block.stage(tile, 0), tile * walked, 1);
    block.template copy<walked>(block.stage(tile, 1), tile * walked, 2);
    cp_async_commit();
  };
  const int last_query = min(block.first_own + own_rows, a.seq_len) - 1;
  const int tiles = last_query / walked + 1;
  block.template copy<own_rows>(block.own, block.first_own, 0);
  block.template copy<own_rows>(block.own + own_rows * tile_stride<D>, block.first_own, 3);
  cp_async_commit();
  copy_stage(0);
  cp_async_wait<1>();
  __syncthreads();
  const OwnRows<D> queries = block.own_rows_of(0);
  const OwnRows<D> dout = block.own_rows_of(1);

  const float scale = 1.0F / sqrtf(static_cast<float>(a.head_dim));
  const int warp_query = block.first_own + warp_index() * 16;
  const int query = warp_query + lane_index() / 4;  // and query + 8
  const int pair = lane_index() % 4;
  float lse[2];  // times log2 e
  float delta[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const bool valid = query + 8 * half < a.seq_len;
    lse[half] = valid ? a.lse[block.head.first_lse + query + 8 * half] * log2_e : 0.0F;
    delta[half] = valid ? a.delta[block.head.first_lse + query + 8 * half] : 0.0F;
  }
  float dq[D / 8][4] = {};
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 1 < tiles) {
      copy_stage(tile + 1);
      cp_async_wait<1>();
    } else {
      cp_async_wait<0>();
    }
    __syncthreads();
    const int first_key = tile * walked;
    if (first_key < warp_query + 16) {  // else all of it is masked for this warp
      const __nv_bfloat16* keys = block.stage(tile, 0);
      float p[walked / 8][4] = {};
      float ds[walked / 8][4] = {};
      multiply_both(p, ds, queries, dout, keys, block.stage(tile, 1));
#pragma unroll
      for (int n = 0; n < walked / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const bool seen = first_key + n * 8 + pair * 2 + e % 2 <= query + e / 2 * 8;
          const float exponent = p[n][e] * (scale * log2_e) - lse[e / 2];
          ds[n][e] = seen ? exp2f(exponent) * (ds[n][e] - delta[e / 2]) : 0.0F;
        }
      }
      add_product<D>(dq, ds, keys);
    }
    __syncthreads();  // the next round's copy overwrites this stage
  }
  block.store(dq, 0, scale);
}

template <int D>
void backward(cudaStream_t stream, const AttentionArgs<__nv_bfloat16>& args) {
  const dim3 blocks = extent(args.sequences * args.heads, ceil_div(args.seq_len, own_rows));
  launch(key_gradients_kernel<D>, blocks, extent(tile_threads), tiles_bytes<D>, stream, args);
  launch(query_gradients_kernel<D>, blocks, extent(tile_threads), tiles_bytes<D>, stream, args);
}

}  // namespace

void tensor_attention_backward(cudaStream_t stream, const AttentionArgs<__nv_bfloat16>& args) {
  if (args.sequences == 0) {
    return;
  }
  attention_delta(stream, args);
  if (args.head_dim <= 64) {
    backward<64>(stream, args);
  } else {
    backward<128>(stream, args);
  }
}

}  // namespace shardgpt::cuda
