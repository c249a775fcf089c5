#include "dist/nccl/nccl_comm.hpp"

#include <algorithm>
#include <exception>
#include <span>
#include <thread>

#include "core/log.hpp"
#include "dist/nccl/nccl_check.hpp"

namespace shardgpt {
namespace {

using Clock = std::chrono::steady_clock;

/// Between two looks at a call: it is launched within microseconds as a rule.
void pause(Clock::duration waited) {
  if (waited < std::chrono::microseconds(200)) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

/// Of rank 0, on all ranks. Collective.
ncclUniqueId shared_unique_id(const MpiComm& parent) {
  ncclUniqueId id{};
  run_phase(parent, [&] {
    if (parent.rank() == 0) {
      SHARDGPT_NCCL(ncclGetUniqueId(&id));
    }
  });
  parent.broadcast(std::as_writable_bytes(std::span(&id, 1)), 0);
  return id;
}

}  // namespace

NcclComm::NcclComm(const MpiComm& parent, std::chrono::seconds time_out)
    : rank_(parent.rank()),
      size_(parent.size()),
      time_out_(time_out),
      exceptions_at_birth_(std::uncaught_exceptions()) {
  const ncclUniqueId id = shared_unique_id(parent);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const ncclResult_t code = ncclCommInitRankConfig(&raw_, size_, id, rank_, &config);
  if (code != ncclSuccess && code != ncclInProgress) {
    throw_nccl_error(code, "ncclCommInitRankConfig", nullptr, __FILE__, __LINE__);
  }
  try {
    await_launch("the start of NCCL");
  } catch (...) {
    ncclCommAbort(raw_);  // the destructor will not run
    throw;
  }
}

NcclComm::~NcclComm() {
  if (aborting_) {
    return;  // gone, or being aborted by another thread
  }
  if (std::uncaught_exceptions() > exceptions_at_birth_) {
    abort();
  } else {
    finish();
  }
}

void NcclComm::finish() noexcept {
  try {
    issue("the end of NCCL", [](ncclComm_t raw) { return ncclCommFinalize(raw); });
    const ncclResult_t code = ncclCommDestroy(raw_);
    if (code != ncclSuccess) {
      log_warning(std::string("ncclCommDestroy: ") + ncclGetErrorString(code));
    }
  } catch (const std::exception& error) {
    log_warning(error.what());
    abort();
  }
}

void NcclComm::issue(const char* what, const std::function<ncclResult_t(ncclComm_t)>& call) {
  const std::lock_guard lock(mutex_);
  if (aborting_) {
    throw NcclError(std::string(what) + " on a communicator that was aborted");
  }
  const ncclResult_t code = call(raw_);
  if (code != ncclSuccess && code != ncclInProgress) {
    throw_nccl_error(code, what, raw_, __FILE__, __LINE__);
  }
  await_launch(what);
}

void NcclComm::await_launch(const char* what) {
  const Clock::time_point start = Clock::now();
  for (;;) {
    ncclResult_t state = ncclInProgress;
    SHARDGPT_NCCL(ncclCommGetAsyncError(raw_, &state));
    if (state == ncclSuccess) {
      return;
    }
    if (state != ncclInProgress) {
      throw_nccl_error(state, what, raw_, __FILE__, __LINE__);
    }
    const Clock::duration waited = Clock::now() - start;
    if (waited > time_out_ || aborting_) {
      throw NcclError(std::string(what) + " has not come to pass for " +
                      std::to_string(std::chrono::duration_cast<std::chrono::seconds>(waited).count()) +
                      " s: a rank is lost or stuck");
    }
    pause(waited);
  }
}

std::string NcclComm::asynchronous_error() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || aborting_) {
    return {};  // the issuing thread looks itself
  }
  ncclResult_t state = ncclSuccess;
  const ncclResult_t code = ncclCommGetAsyncError(raw_, &state);
  const ncclResult_t found = code != ncclSuccess ? code : state;
  if (found == ncclSuccess || found == ncclInProgress) {
    return {};
  }
  const char* detail = ncclGetLastError(raw_);
  return std::string(ncclGetErrorString(found)) +
         (detail != nullptr ? std::string(": ") + detail : std::string());
}

void NcclComm::abort() noexcept {
  if (aborting_.exchange(true)) {
    return;
  }
  const std::lock_guard lock(mutex_);  // a call that is being issued looks at aborting_ and leaves
  const ncclResult_t code = ncclCommAbort(raw_);
  if (code != ncclSuccess && code != ncclInProgress) {
    log_warning(std::string("ncclCommAbort: ") + ncclGetErrorString(code));
  }
}

std::string nccl_version() {
  int version = 0;
  SHARDGPT_NCCL(ncclGetVersion(&version));
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace shardgpt
