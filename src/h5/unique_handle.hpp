#pragma once

#include <utility>

namespace shardgpt {

/// Move-only owner of a C handle. Traits: Raw, null, close(Raw) noexcept.
template <class Traits>
class UniqueHandle {
 public:
  using Raw = typename Traits::Raw;

  UniqueHandle() noexcept = default;
  explicit UniqueHandle(Raw raw) noexcept : raw_(raw) {}
  UniqueHandle(UniqueHandle&& other) noexcept : raw_(std::exchange(other.raw_, Traits::null)) {}
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    UniqueHandle taken(std::move(other));
    std::swap(raw_, taken.raw_);
    return *this;
  }
  ~UniqueHandle() {
    if (raw_ != Traits::null) {
      Traits::close(raw_);
    }
  }

  [[nodiscard]] Raw get() const noexcept { return raw_; }
  /// Gives the handle up without closing it.
  [[nodiscard]] Raw release() noexcept { return std::exchange(raw_, Traits::null); }

 private:
  Raw raw_ = Traits::null;
};

}  // namespace shardgpt
