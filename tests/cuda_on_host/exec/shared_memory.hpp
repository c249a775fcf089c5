#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace cuda_on_host {

/// What a block may have on every GPU that the project builds for: 163 KiB on compute capability 8.0, more on
/// others.
inline constexpr std::size_t max_dynamic_shared_bytes = std::size_t{163} * 1024;
/// What the compiler allows as static arrays.
inline constexpr std::size_t max_static_shared_bytes = std::size_t{48} * 1024;

/// The shared memory of the running block: one piece per static array, one for the dynamic part, with a gap
/// after each that AddressSanitizer takes for out of bounds. Fresh in each block: every bit set, which is NaN
/// in FP32 and BF16.
class SharedMemory {
 public:
  SharedMemory();

  void begin_launch(std::size_t dynamic_bytes);
  void begin_block();
  void end_launch();
  /// The array that `key` stands for, made by the first thread that asks. nullptr: too much for a block.
  void* array(const void* key, std::size_t bytes);
  /// nullptr: the launch asked for none.
  [[nodiscard]] void* dynamic() const { return dynamic_bytes_ == 0 ? nullptr : arena_.get(); }
  /// Whether these bytes lie inside one array.
  [[nodiscard]] bool contains(const void* address, std::size_t bytes) const;

 private:
  struct Region {
    const void* key;
    std::byte* address;
    std::size_t bytes;
  };
  struct Free {
    void operator()(std::byte* address) const;
  };

  Region& add(const void* key, std::size_t bytes);

  std::unique_ptr<std::byte, Free> arena_;
  std::size_t used_ = 0;
  std::size_t static_bytes_ = 0;
  std::size_t dynamic_bytes_ = 0;
  std::vector<Region> regions_;
};

}  // namespace cuda_on_host
