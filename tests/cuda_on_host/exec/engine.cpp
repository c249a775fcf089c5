#include "tests/cuda_on_host/exec/engine.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "tests/cuda_on_host/exec/access_observer.hpp"
#include "tests/cuda_on_host/exec/kernel_calls.hpp"
#include "tests/cuda_on_host/exec/options.hpp"
#include "tests/cuda_on_host/exec/source_lines.hpp"

namespace cuda_on_host {

namespace {

// Serial numbers of blocks: a launch takes as many as it has blocks.
std::atomic<std::uint32_t> next_serial = 1;

uint3 extents_of(const dim3& extents) {
  return {extents.x, extents.y, extents.z};
}

uint3 position_in(std::uint32_t number, const uint3& extents) {
  return {number % extents.x, number / extents.x % extents.y, number / extents.x / extents.y};
}

std::ostream& operator<<(std::ostream& out, const uint3& position) {
  return out << '(' << position.x << ", " << position.y << ", " << position.z << ')';
}

bool same_place(const SourcePlace& left, const SourcePlace& right) {
  // The pointers differ for one name in several translation units.
  return left.line == right.line && (left.file == right.file || std::string_view(left.file) == right.file);
}

/// The order of a launch's blocks.
class BlockOrder {
 public:
  BlockOrder(std::uint32_t count, ThreadOrder order, Random& random) : count_(count), order_(order) {
    if (order == ThreadOrder::random) {
      start_ = random.next() % count;
      do {
        stride_ = 1 + random.next() % count;
      } while (std::gcd(stride_, count) != 1);
    }
  }
  [[nodiscard]] std::uint32_t at(std::uint32_t position) const {
    switch (order_) {
      case ThreadOrder::newest_first:
        return count_ - 1 - position;
      case ThreadOrder::random:
        return static_cast<std::uint32_t>((start_ + std::uint64_t{position} * stride_) % count_);
      case ThreadOrder::ascending:
        break;
    }
    return position;
  }

 private:
  std::uint32_t count_;
  ThreadOrder order_;
  std::uint32_t start_ = 0;
  std::uint32_t stride_ = 1;
};

/// Ends what the launch began, also when a fault leaves it.
class LaunchScope {
 public:
  LaunchScope(const Launch& launch, SharedMemory& shared_memory) : shared_memory_(shared_memory) {
    if (AccessObserver* const observer = access_observer(); observer != nullptr) {
      observer->launch_begins();
    }
    shared_memory_.begin_launch(launch.dynamic_shared_bytes);
  }
  LaunchScope(const LaunchScope&) = delete;
  LaunchScope& operator=(const LaunchScope&) = delete;
  ~LaunchScope() {
    shared_memory_.end_launch();
    kernel_context = {};
    if (AccessObserver* const observer = access_observer(); observer != nullptr) {
      observer->launch_ends();
    }
  }

 private:
  SharedMemory& shared_memory_;
};

}  // namespace

std::string name_of(const SourcePlace& where) {
  const std::string_view path = where.file;
  std::ostringstream name;
  name << path.substr(path.rfind('/') + 1) << ':' << where.line;
  return name.str();
}

Engine& Engine::of_this_thread() {
  thread_local Engine engine;
  return engine;
}

void run(const Launch& launch) {
  Engine::of_this_thread().run(launch);
}

void Engine::run(const Launch& launch) {
  const std::uint64_t blocks = std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  thread_count_ = launch.block.x * launch.block.y * launch.block.z;
  if (kernel_context.thread != nullptr || blocks == 0 || blocks > UINT32_MAX || thread_count_ == 0 ||
      thread_count_ > max_threads_of_block || launch.dynamic_shared_bytes > max_dynamic_shared_bytes) {
    throw std::invalid_argument("a launch from a kernel, or of a size that no GPU takes");
  }
  while (threads_.size() < thread_count_) {
    threads_.emplace_back(static_cast<unsigned>(threads_.size()));
  }
  const Options options = current_options();
  ready_.emplace(options);
  fault_.reset();
  launch_ = &launch;
  const BlockOrder order(static_cast<std::uint32_t>(blocks), options.order, ready_->random());
  const LaunchScope scope(launch, shared_memory_);
  kernel_context.grid_extents = extents_of(launch.grid);
  kernel_context.block_extents = extents_of(launch.block);
  kernel_context.launch_first_serial = next_serial.fetch_add(static_cast<std::uint32_t>(blocks));
  kernel_context.arguments = launch.arguments;
  kernel_context.argument_bytes = launch.argument_bytes;
  for (std::uint32_t i = 0; i < blocks; ++i) {
    begin_block(order.at(i));
    run_block();
  }
}

void Engine::begin_block(std::uint32_t block) {
  kernel_context.block_index = position_in(block, kernel_context.grid_extents);
  kernel_context.block_serial = kernel_context.launch_first_serial + block;
  kernel_context.barrier_epoch = 0;
  shared_memory_.begin_block();
  warps_ = {};
  at_barrier_ = 0;
  done_ = 0;
  ready_->clear();
  for (unsigned i = 0; i < thread_count_; ++i) {
    KernelThread& thread = threads_[i];
    thread.index = position_in(i, kernel_context.block_extents);
    thread.warp_epoch = 0;
    thread.copies.clear();
    thread.state = KernelThread::State::runs;
    thread.fiber.prepare(thread.stack, &Engine::thread_main);
    ready_->add(i);
  }
}

void Engine::run_block() {
  switch_to(launcher_, ready_->take());
  running_ = nullptr;
  kernel_context.thread = nullptr;
  if (!fault_ && done_ != thread_count_) {
    fault_ =
        Fault{at_barrier_ != 0 ? FaultKind::barrier : FaultKind::warp, describe_stuck(), nullptr, nullptr};
  }
  if (fault_) {
    throw_fault();
  }
}

void Engine::thread_main() {
  Engine& engine = of_this_thread();
  engine.running_->fiber.begin(*engine.switched_from_);
  engine.launch_->entry(engine.launch_->arguments);
  engine.leave();
}

void Engine::leave() {
  KernelThread& thread = *running_;
  if (!thread.copies.empty()) {
    stop_kernel(FaultKind::async_copy, [&] {
      return "the thread ends without waiting for its copy from " + name_of(thread.copies.oldest().where);
    });
  }
  thread.state = KernelThread::State::done;
  ++done_;
  const int next = ready_->take();
  Fiber& to = next < 0 ? launcher_ : threads_[static_cast<unsigned>(next)].fiber;
  if (next >= 0) {
    running_ = &threads_[static_cast<unsigned>(next)];
    kernel_context.thread = running_;
  }
  switched_from_ = &thread.fiber;
  thread.fiber.finish_and_switch_to(to);
}

void Engine::switch_to(Fiber& from, int thread) {
  if (thread < 0) {
    switched_from_ = &from;
    from.switch_to(launcher_);
    return;
  }
  running_ = &threads_[static_cast<unsigned>(thread)];
  kernel_context.thread = running_;
  if (&running_->fiber != &from) {
    switched_from_ = &from;
    from.switch_to(running_->fiber);
  }
}

void Engine::wait_for_turn() {
  switch_to(running_->fiber, ready_->take());
}

void Engine::record_fault(FaultKind kind, const std::string& message, const void* code,
                          const void* other_code) {
  std::ostringstream text;
  text << "block " << kernel_context.block_index << " thread " << running_->index << ": " << message;
  fault_ = Fault{kind, text.str(), code, other_code};
}

void Engine::abandon() {
  while (true) {  // nothing goes back to this thread
    switch_to(running_->fiber, -1);
  }
}

void Engine::throw_fault() {
  // The stacks of the threads are left as they are.
  for (unsigned i = 0; i < thread_count_; ++i) {
    Fiber::unpoison(threads_[i].stack);
    threads_[i].copies.clear();
  }
  std::string message = fault_->message;
  if (fault_->code != nullptr) {
    message += "; here: " + source_line(fault_->code);
  }
  if (fault_->other_code != nullptr) {
    message += "; before: " + source_line(fault_->other_code);
  }
  throw KernelFault(fault_->kind, message);
}

void Engine::block_barrier(const SourcePlace& where) {
  KernelThread& thread = *running_;
  thread.where = where;
  thread.state = KernelThread::State::waits_at_barrier;
  ++at_barrier_;
  if (at_barrier_ == thread_count_) {
    release_barrier();
  }
  wait_for_turn();
}

void Engine::release_barrier() {
  const SourcePlace& first = threads_[0].where;
  for (unsigned i = 0; i < thread_count_; ++i) {
    if (!same_place(first, threads_[i].where)) {
      stop_kernel(FaultKind::barrier, [&] {
        return "threads are at different barriers: thread 0 at " + name_of(first) + ", thread " +
               std::to_string(i) + " at " + name_of(threads_[i].where);
      });
    }
    threads_[i].state = KernelThread::State::runs;
    ready_->add(i);
  }
  at_barrier_ = 0;
  ++kernel_context.barrier_epoch;
}

void Engine::warp_operation(std::uint32_t mask, WarpOperation operation, void* lane_data, bool orders_memory,
                            const SourcePlace& where) {
  KernelThread& thread = *running_;
  const unsigned warp = thread.number / lanes_of_warp;
  const std::uint32_t lane = 1U << thread.number % lanes_of_warp;
  if ((mask & lane) == 0) {
    stop_kernel(FaultKind::warp, [&] {
      return "the calling lane is not in the mask of the warp operation at " + name_of(where);
    });
  }
  static char nothing;
  thread.lane_data = lane_data == nullptr ? &nothing : lane_data;
  thread.mask = mask;
  thread.operation = operation;
  thread.where = where;
  thread.state = KernelThread::State::waits_at_warp_operation;
  warps_[warp].waiting |= lane;
  if ((warps_[warp].waiting & mask) == mask) {
    release_warp(warp, mask, orders_memory);
  }
  wait_for_turn();
}

void Engine::release_warp(unsigned warp, std::uint32_t mask, bool orders_memory) {
  std::array<void*, lanes_of_warp> lane_data{};
  const KernelThread& caller = *running_;
  const unsigned first = warp * lanes_of_warp;
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const KernelThread& thread = threads_[first + lane];
    if (thread.mask != mask) {
      return;  // it waits for other lanes: if they do not come, the report shows the masks
    }
    if (thread.operation != caller.operation || !same_place(thread.where, caller.where)) {
      stop_kernel(FaultKind::warp, [&] {
        return "lanes of one mask are at different warp operations: this one at " + name_of(caller.where) +
               ", lane " + std::to_string(lane) + " at " + name_of(thread.where);
      });
    }
    lane_data[lane] = thread.lane_data;
  }
  if (caller.operation != nullptr) {
    caller.operation(lane_data.data(), mask);
  }
  const bool whole_warp =
      static_cast<unsigned>(std::popcount(mask)) == std::min(lanes_of_warp, thread_count_ - first);
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    KernelThread& thread = threads_[first + static_cast<unsigned>(std::countr_zero(rest))];
    thread.state = KernelThread::State::runs;
    thread.warp_epoch += orders_memory && whole_warp ? 1U : 0U;
  }
  warps_[warp].waiting &= ~mask;
  ready_->add_lanes(warp, mask);
}

std::string Engine::describe_stuck() const {
  constexpr unsigned max_shown = 3;
  unsigned at_warp_operation = 0;
  bool barrier_shown = false;
  std::ostringstream details;
  for (unsigned i = 0; i < thread_count_; ++i) {
    const KernelThread& thread = threads_[i];
    if (thread.state == KernelThread::State::waits_at_barrier && !barrier_shown) {
      details << "; thread " << i << " waits at the barrier at " << name_of(thread.where);
      barrier_shown = true;
    }
    if (thread.state == KernelThread::State::waits_at_warp_operation && ++at_warp_operation <= max_shown) {
      details << "; thread " << i << " waits in the warp operation at " << name_of(thread.where)
              << " for lanes";
      for (unsigned lane = 0; lane < lanes_of_warp; ++lane) {
        if ((thread.mask >> lane & 1U) != 0 && !waits_with(thread, lane)) {
          details << ' ' << lane;
        }
      }
    }
  }
  std::ostringstream text;
  text << "block " << kernel_context.block_index << " cannot go on: of " << thread_count_ << " threads "
       << done_ << " have ended, " << at_barrier_ << " wait at a barrier, " << at_warp_operation
       << " in a warp operation" << details.str();
  return text.str();
}

bool Engine::waits_with(const KernelThread& thread, unsigned lane) const {
  const unsigned number = thread.number / lanes_of_warp * lanes_of_warp + lane;
  return number < thread_count_ && threads_[number].state == KernelThread::State::waits_at_warp_operation &&
         threads_[number].mask == thread.mask;
}

}  // namespace cuda_on_host
