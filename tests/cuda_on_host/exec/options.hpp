#pragma once

#include <cstdint>
#include <string_view>

namespace cuda_on_host {

/// In which order the threads of a block, and the blocks of a grid, run. Right kernels give the same results
/// in each.
enum class ThreadOrder {
  ascending,  ///< in rounds: each thread runs to its next barrier or warp operation before any runs further
  newest_first,  ///< from the last block, warp and lane down; a warp runs as far ahead as barriers let it
  random,        ///< a warp chosen at random runs as far ahead as barriers let it; lanes and blocks at random
};

struct Options {
  ThreadOrder order = ThreadOrder::ascending;
  std::uint64_t seed = 1;  ///< of ThreadOrder::random
};

/// "ascending", "newest_first", "random" or "random:SEED". Throws std::invalid_argument.
Options parse_options(std::string_view text);

/// For all launches from now on. At first they are those of the environment variable
/// SHARDGPT_CUDA_ON_HOST_ORDER, ascending where it is not set. May be called from any thread.
void set_options(const Options& options);
Options current_options();

}  // namespace cuda_on_host
