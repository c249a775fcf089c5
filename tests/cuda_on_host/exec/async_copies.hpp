#pragma once

#include <cstddef>
#include <source_location>
#include <vector>

namespace cuda_on_host {

/// The asynchronous copies that one kernel thread has started and not waited for.
class AsyncCopies {
 public:
  struct Copy {
    void* destination;
    const void* source;  ///< nullptr: zeros
    int group;
    std::source_location where;
  };

  void clear() {
    copies_.clear();
    group_ = 0;
  }
  [[nodiscard]] bool empty() const { return copies_.empty(); }
  [[nodiscard]] const Copy& oldest() const { return copies_.front(); }

  void start(void* destination, const void* source, const std::source_location& where) {
    copies_.push_back({destination, source, group_, where});
  }
  void commit() { ++group_; }
  /// Calls `arrive` for each copy outside the `keep` newest committed groups, oldest first, and forgets it.
  template <class Arrive>
  void wait(int keep, Arrive arrive) {
    std::size_t count = 0;
    while (count < copies_.size() && copies_[count].group < group_ - keep) {
      arrive(copies_[count]);
      ++count;
    }
    copies_.erase(copies_.begin(), copies_.begin() + static_cast<std::ptrdiff_t>(count));
  }

 private:
  std::vector<Copy> copies_;
  int group_ = 0;
};

}  // namespace cuda_on_host
