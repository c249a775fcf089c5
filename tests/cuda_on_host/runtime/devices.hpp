#pragma once

namespace cuda_on_host {

/// The device of the calling thread, as cudaSetDevice left it.
[[nodiscard]] int current_device();

}  // namespace cuda_on_host
