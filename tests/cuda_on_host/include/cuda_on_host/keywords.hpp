#pragma once

/// Included before anything else where a .cu file is compiled for the host. Shared memory that the engine
/// does not know would be neither fresh in each block nor checked, so the keyword is refused; the toolkit's
/// headers keep it.
#define __shared__ use_SHARDGPT_SHARED_ARRAY_or_SHARDGPT_DYNAMIC_SHARED

/// Advice to nvcc alone.
#define __launch_bounds__(...)
