#include "tests/cuda_on_host/exec/fiber.hpp"

#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include <sys/mman.h>

#include "tests/cuda_on_host/exec/sanitizer_calls.hpp"

/// Saves the registers that a callee must keep on the running stack, its pointer in *save, and goes on where
/// `to` was saved. ucontext would do, at a system call a switch and a tenth of the speed.
extern "C" void cuda_on_host_switch(void** save, void* to);
asm(R"(
.text
.globl cuda_on_host_switch
.type cuda_on_host_switch,@function
cuda_on_host_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp,(%rdi)
  movq %rsi,%rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size cuda_on_host_switch,.-cuda_on_host_switch
)");

namespace cuda_on_host {

namespace {

constexpr std::size_t guard_bytes = 4096;
constexpr std::size_t saved_registers = 6;

}  // namespace

FiberStack::FiberStack(unsigned number)
    : offset_(64 + static_cast<std::size_t>(number) * 1088 % 16384 / 64 * 64) {
  void* const mapped = mmap(nullptr, guard_bytes + bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (mapped == MAP_FAILED) {
    throw std::bad_alloc();
  }
  mprotect(mapped, guard_bytes, PROT_NONE);
  low_ = static_cast<std::byte*>(mapped) + guard_bytes;
}

FiberStack::FiberStack(FiberStack&& other) noexcept
    : low_(std::exchange(other.low_, nullptr)), offset_(other.offset_) {}

FiberStack::~FiberStack() {
  if (low_ != nullptr) {
    munmap(low_ - guard_bytes, guard_bytes + bytes);
  }
}

void Fiber::prepare(const FiberStack& stack, Function function) {
  // As cuda_on_host_switch leaves it: six registers, the address to go on at, and the alignment of a called
  // function.
  auto* top = reinterpret_cast<void**>(stack.low_ + FiberStack::bytes - stack.offset_);
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(function);
  top -= saved_registers;
  std::memset(top, 0, saved_registers * sizeof(void*));
  stack_pointer_ = top;
  fake_stack_ = nullptr;
  stack_low_ = stack.low_;
  stack_bytes_ = FiberStack::bytes;
}

void Fiber::switch_to(Fiber& next) {
  if (__sanitizer_start_switch_fiber != nullptr) {
    __sanitizer_start_switch_fiber(&fake_stack_, next.stack_low_, next.stack_bytes_);
  }
  cuda_on_host_switch(&stack_pointer_, next.stack_pointer_);
  if (__sanitizer_finish_switch_fiber != nullptr) {
    __sanitizer_finish_switch_fiber(fake_stack_, nullptr, nullptr);
  }
}

void Fiber::finish_and_switch_to(Fiber& next) {
  if (__sanitizer_start_switch_fiber != nullptr) {
    __sanitizer_start_switch_fiber(nullptr, next.stack_low_, next.stack_bytes_);
  }
  cuda_on_host_switch(&stack_pointer_, next.stack_pointer_);
}

void Fiber::begin(Fiber& origin) {
  if (__sanitizer_finish_switch_fiber != nullptr) {
    __sanitizer_finish_switch_fiber(fake_stack_, &origin.stack_low_, &origin.stack_bytes_);
  }
}

void Fiber::unpoison(const FiberStack& stack) {
  cuda_on_host::unpoison(stack.low_, FiberStack::bytes);
}

}  // namespace cuda_on_host
