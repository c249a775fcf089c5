#pragma once

#include <cstddef>
#include <vector>

#include "tests/cuda_on_host/exec/source_place.hpp"

namespace cuda_on_host {

/// The asynchronous copies that one kernel thread has started and not waited for.
class AsyncCopies {
 public:
  struct Copy {
    void* destination = nullptr;
    const void* source = nullptr;  ///< nullptr: zeros
    int group = 0;
    SourcePlace where;
  };

  void clear() {
    copies_.clear();
    group_ = 0;
  }
  [[nodiscard]] bool empty() const { return copies_.empty(); }
  [[nodiscard]] const Copy& oldest() const { return copies_.front(); }

  void start(void* destination, const void* source, const SourcePlace& where) {
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
