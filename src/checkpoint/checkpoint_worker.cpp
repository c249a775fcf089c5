#include "checkpoint/checkpoint_worker.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "core/log.hpp"

namespace shardgpt {
namespace {

// How often a waiting thread looks whether the job is stuck.
constexpr std::chrono::milliseconds look(200);

// A weight of a tenth at the processors, for work that holds no lock inside MPI.
constexpr int nice_steps_behind_compute = 10;

}  // namespace

CheckpointWorker::CheckpointWorker(const MpiComm& parent, std::chrono::seconds time_out)
    : comm_(parent.duplicate(Waiting::sleeping)),
      time_out_(time_out),
      behind_compute_(nice_steps_behind_compute),
      thread_([this] { work(); }) {}

CheckpointWorker::~CheckpointWorker() {
  settle();
  {
    const std::lock_guard lock(mutex_);
    stage_ = Stage::closing;
  }
  changed_.notify_all();
  thread_.join();
}

void CheckpointWorker::start(Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (in_hand_) {
      throw std::logic_error("a checkpoint job is in hand already");
    }
    in_hand_ = true;
    job_ = std::move(job);
    failure_ = nullptr;
    failed_alone_ = false;
    progress_ = Clock::now();
    stage_ = Stage::working;
  }
  changed_.notify_all();
}

bool CheckpointWorker::ended() const {
  const std::lock_guard lock(mutex_);
  return stage_ == Stage::ended;
}

void CheckpointWorker::check() const {
  const std::lock_guard lock(mutex_);
  if (stage_ == Stage::working) {
    throw_if_stuck();
  } else if (stage_ == Stage::ended && failed_alone_) {
    std::rethrow_exception(failure_);
  }
}

void CheckpointWorker::finish() {
  std::exception_ptr failure;
  {
    std::unique_lock lock(mutex_);
    if (!in_hand_) {
      throw std::logic_error("no checkpoint job is in hand");
    }
    while (!changed_.wait_for(lock, look, [this] { return stage_ == Stage::ended; })) {
      throw_if_stuck();
    }
    stage_ = Stage::idle;
    in_hand_ = false;
    failure = std::exchange(failure_, nullptr);
  }
  if (failure != nullptr) {
    std::rethrow_exception(failure);
  }
}

void CheckpointWorker::settle() noexcept {
  if (!in_hand_) {
    return;
  }
  try {
    finish();
  } catch (const std::exception& error) {
    log_error(std::string("the save in flight has failed: ") + error.what());
  }
  if (in_hand_) {
    MpiSession::abort(exit_error);  // stuck: its thread would never be joined
  }
}

void CheckpointWorker::note_progress() {
  const std::lock_guard lock(mutex_);
  progress_ = Clock::now();
}

void CheckpointWorker::throw_if_stuck() const {
  if (Clock::now() - progress_ > time_out_) {
    throw Error("rank " + std::to_string(comm_.rank()) +
                ": reading or writing a checkpoint has made no progress for " +
                std::to_string(time_out_.count()) +
                " s: the file system or a rank is stuck (--save-timeout sets the limit)");
  }
}

void CheckpointWorker::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stage_ == Stage::working || stage_ == Stage::closing; });
    if (stage_ == Stage::closing) {
      return;
    }
    Job job = std::exchange(job_, nullptr);
    lock.unlock();
    std::exception_ptr failure;
    bool alone = false;
    try {
      job(comm_);
    } catch (const AgreedError&) {
      failure = std::current_exception();
    } catch (const InputError&) {
      failure = std::current_exception();
    } catch (...) {
      failure = std::current_exception();
      alone = true;
    }
    job = nullptr;  // what it holds goes before the other thread goes on
    lock.lock();
    failure_ = failure;
    failed_alone_ = alone;
    stage_ = Stage::ended;
    changed_.notify_all();
  }
}

}  // namespace shardgpt
