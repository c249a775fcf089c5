#include "tests/cuda_on_host/race/race_checker.hpp"

#include <sstream>

#include "tests/cuda_on_host/exec/kernel_calls.hpp"

// Set by the linker: the program's own code and data.
extern "C" const char __executable_start;  // NOLINT(bugprone-reserved-identifier)
extern "C" const char _end;                // NOLINT(bugprone-reserved-identifier)

namespace cuda_on_host {

namespace {

bool lies_in(const void* address, const void* begin, std::size_t bytes) {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  return place >= first && place < first + bytes;
}

std::size_t program_bytes() {
  return static_cast<std::size_t>(&_end - &__executable_start);
}

/// Whether an access of the running launch, `before`, can happen at the same time as one of the thread of
/// `now`.
bool is_concurrent(const Stamp& before, MemorySpace space, const Stamp& now) {
  if (before.block_serial < kernel_context.launch_first_serial) {
    return false;
  }
  if (before.block_serial != now.block_serial) {
    return space == MemorySpace::global;  // shared memory of another block is another memory
  }
  if (before.thread_number() == now.thread_number() || before.barrier_epoch != now.barrier_epoch) {
    return false;
  }
  return before.warp() != now.warp() || before.warp_epoch == now.warp_epoch;
}

void remember_read(ByteShadow& shadow, const Stamp& now) {
  const Stamp& newest = shadow.newest_read;
  if (newest.block_serial != 0 &&
      (newest.block_serial != now.block_serial || newest.thread_number() != now.thread_number())) {
    if (newest.block_serial != now.block_serial || newest.warp() != now.warp()) {
      shadow.other_warp_read = newest;
      shadow.other_lane_read = {};
    } else if (newest.warp_epoch == now.warp_epoch) {
      shadow.other_lane_read = newest;
    }
  }
  shadow.newest_read = now;
}

}  // namespace

void RaceChecker::memory_added(const void* address, std::size_t bytes, MemorySpace space) {
  std::unique_lock lock(running_, std::defer_lock);
  if (space == MemorySpace::global) {  // shared memory is the running launch's, which holds the lock
    lock.lock();
  }
  memory_.add(address, bytes, space);
}

void RaceChecker::memory_removed(const void* address, MemorySpace space) {
  std::unique_lock lock(running_, std::defer_lock);
  if (space == MemorySpace::global) {
    lock.lock();
  }
  memory_.remove(address);
}

void RaceChecker::access(const void* address, std::size_t bytes, AccessKind kind, const void* code) {
  const KernelContext& context = kernel_context;
  if (context.thread == nullptr || lies_in(address, context.thread->stack.low(), FiberStack::bytes) ||
      lies_in(address, context.arguments, context.argument_bytes)) {
    return;
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  ShadowRegion* const region = memory_.find(begin);
  if (region == nullptr) {
    if (kind == AccessKind::read && lies_in(address, &__executable_start, program_bytes())) {
      return;  // constants
    }
    stop_kernel(
        FaultKind::bounds, [] { return "the address is in no memory that kernels may use"; }, code);
  }
  if (begin + bytes > region->end) {
    stop_kernel(
        FaultKind::bounds, [] { return "the access begins inside an allocation and ends outside"; }, code);
  }
  Stamp now;
  now.block_serial = context.block_serial;
  now.barrier_epoch = context.barrier_epoch;
  now.code = static_cast<std::uint32_t>(static_cast<const char*>(code) - &__executable_start);
  now.thread = static_cast<std::uint16_t>(context.thread->number |
                                          (kind == AccessKind::atomic ? Stamp::atomic_flag : 0U));
  now.warp_epoch = static_cast<std::uint16_t>(context.thread->warp_epoch);
  const Access access{address, bytes, kind, code};
  for (std::size_t i = 0; i < bytes; ++i) {
    check_byte(region->bytes[begin - region->begin + i], region->space, now, access);
  }
}

void RaceChecker::check_byte(ByteShadow& shadow, MemorySpace space, const Stamp& now, const Access& access) {
  const bool both_atomic = access.kind == AccessKind::atomic && shadow.write.is_atomic();
  if (!both_atomic && is_concurrent(shadow.write, space, now)) {
    report_race(shadow.write, "written", access);
  }
  if (access.kind == AccessKind::read) {
    if (space == MemorySpace::shared && shadow.write.block_serial != now.block_serial) {
      stop_kernel(
          FaultKind::uninitialised,
          [] { return "shared memory is read that no thread of the block has written"; }, access.code);
    }
    remember_read(shadow, now);
    return;
  }
  for (const Stamp* const read : {&shadow.newest_read, &shadow.other_warp_read, &shadow.other_lane_read}) {
    if (is_concurrent(*read, space, now)) {
      report_race(*read, "read", access);
    }
  }
  shadow.write = now;
}

void RaceChecker::report_race(const Stamp& before, const char* what, const Access& access) {
  const auto describe = [&] {
    std::ostringstream text;
    text << "race: " << access.bytes << " bytes are "
         << (access.kind == AccessKind::read ? "read" : "written") << " that thread "
         << before.thread_number();
    if (before.block_serial == kernel_context.block_serial) {
      text << " of the block";
    } else {
      text << " of block number " << before.block_serial - kernel_context.launch_first_serial;
    }
    text << " has " << what << ", with nothing between that orders them";
    return text.str();
  };
  stop_kernel(FaultKind::race, describe, access.code, &__executable_start + before.code);
}

}  // namespace cuda_on_host
