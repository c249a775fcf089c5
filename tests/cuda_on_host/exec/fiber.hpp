#pragma once

#include <cstddef>

namespace cuda_on_host {

/// The stack of one kernel thread: mapped memory behind a page that faults, so that an overflow ends the
/// program.
class FiberStack {
 public:
  explicit FiberStack(unsigned number);
  ~FiberStack();
  FiberStack(FiberStack&& other) noexcept;
  FiberStack(const FiberStack&) = delete;
  FiberStack& operator=(const FiberStack&) = delete;
  FiberStack& operator=(FiberStack&&) = delete;

  [[nodiscard]] std::byte* low() const { return low_; }
  static constexpr std::size_t bytes = std::size_t{256} * 1024;

 private:
  std::byte* low_ = nullptr;
  std::size_t offset_;  ///< stack tops at one distance would share one set of the cache

  friend class Fiber;
};

/// A suspended point of execution with a stack of its own: a kernel thread, or (without FiberStack) the code
/// that started it. Not for exceptions: none may leave a fiber. AddressSanitizer is told of every switch.
class Fiber {
 public:
  using Function = void (*)();

  /// The next switch to this fiber begins `function` on `stack`, which must never return.
  void prepare(const FiberStack& stack, Function function);
  /// Suspends this fiber, which runs, and goes on with `next`; returns when something switches back.
  void switch_to(Fiber& next);
  /// The same for the last time: this fiber's stack is not needed any more.
  void finish_and_switch_to(Fiber& next);
  /// First call on a fiber's stack. `origin` is who switched here, and is told the extent of its stack.
  void begin(Fiber& origin);
  /// Forgets what an abandoned run left marked on the stack.
  static void unpoison(const FiberStack& stack);

 private:
  void* stack_pointer_ = nullptr;
  void* fake_stack_ = nullptr;       // AddressSanitizer's
  const void* stack_low_ = nullptr;  // AddressSanitizer wants to know where it goes
  std::size_t stack_bytes_ = 0;
};

}  // namespace cuda_on_host
