#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <mpi.h>

#include "core/error.hpp"

namespace shardgpt {

/// A failed MPI call.
class MpiError : public Error {
 public:
  using Error::Error;
};

[[noreturn]] void throw_mpi_error(int code, const char* call, const char* file, int line);

/// Runs an MPI call and throws MpiError with its text on failure (communicators return errors, see MpiComm).
#define SHARDGPT_MPI(call)                                                    \
  do {                                                                        \
    if (const int shardgpt_code_ = (call); shardgpt_code_ != MPI_SUCCESS) {   \
      ::shardgpt::throw_mpi_error(shardgpt_code_, #call, __FILE__, __LINE__); \
    }                                                                         \
  } while (false)

/// How a thread waits for its peers inside MpiComm's methods: inside MPI, which spins, or asleep between
/// looks, for a thread that works beside compute.
enum class Waiting { spinning, sleeping };

/// Move-only owner of a communicator whose errors are returned, never fatal. All methods but rank, size and
/// raw are collective: every rank of the communicator calls them in the same order, from one thread at a
/// time.
class MpiComm {
 public:
  /// Collective over `parent`: a communicator of its own, so that messages cannot mix.
  [[nodiscard]] static MpiComm duplicate(MPI_Comm parent, Waiting waiting = Waiting::spinning);
  MpiComm(MpiComm&& other) noexcept;
  MpiComm& operator=(MpiComm&& other) noexcept;
  ~MpiComm();

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] MPI_Comm raw() const { return raw_; }

  [[nodiscard]] MpiComm duplicate(Waiting waiting = Waiting::spinning) const {
    return duplicate(raw_, waiting);
  }
  /// The ranks that share memory with this one.
  [[nodiscard]] MpiComm split_by_node() const;
  /// The ranks that bring the same `colour` (0 or more), in the order of their ranks here.
  [[nodiscard]] MpiComm split(int colour) const;

  void barrier() const;
  void broadcast(std::span<std::byte> bytes, int root) const;
  /// `text` of rank `root`, on all ranks.
  [[nodiscard]] std::string broadcast(const std::string& text, int root) const;
  /// One text of each rank, in rank order, on all ranks.
  [[nodiscard]] std::vector<std::string> all_gather(const std::string& text) const;
  [[nodiscard]] std::vector<std::uint64_t> all_gather(std::uint64_t value) const;
  [[nodiscard]] std::int64_t sum(std::int64_t value) const;
  [[nodiscard]] std::int64_t maximum(std::int64_t value) const;
  /// true where it is true on all ranks.
  [[nodiscard]] bool all(bool value) const;

 private:
  explicit MpiComm(MPI_Comm raw, Waiting waiting = Waiting::spinning);
  /// Waits for a collective operation.
  void complete(MPI_Request request) const;
  [[nodiscard]] std::int64_t reduce(std::int64_t value, MPI_Op operation) const;
  MPI_Comm raw_ = MPI_COMM_NULL;
  Waiting waiting_ = Waiting::spinning;
  int rank_ = 0;
  int size_ = 1;
};

/// An error that every rank of the communicator has thrown at the same place: nobody waits for anybody.
class AgreedError : public Error {
 public:
  using Error::Error;
};

/// What went wrong on this rank in a phase, or nothing.
struct PhaseFailure {
  bool failed = false;
  bool bad_input = false;
  std::string message;
};

/// Ends a phase on all ranks together: collective. Where any rank failed, every rank throws InputError or
/// Error with the lowest failing rank's message, so that none goes on alone or waits for one that left.
void agree_or_throw(const MpiComm& comm, const PhaseFailure& failure);

/// Runs `work` (local) and ends the phase as agree_or_throw does.
template <class Work>
void run_phase(const MpiComm& comm, Work&& work) {
  PhaseFailure failure;
  try {
    work();
  } catch (const InputError& error) {
    failure = {true, true, error.what()};
  } catch (const std::exception& error) {
    failure = {true, false, error.what()};
  }
  agree_or_throw(comm, failure);
}

/// Owner of MPI_Init_thread and MPI_Finalize; one per process, made and destroyed by main.
class MpiSession {
 public:
  /// Throws Error where MPI cannot serialize calls of several threads.
  MpiSession(int& argc, char**& argv);
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  ~MpiSession();

  [[nodiscard]] const MpiComm& world() const { return world_; }
  /// Whether several threads may be inside MPI at once.
  [[nodiscard]] bool thread_multiple() const { return thread_multiple_; }
  [[nodiscard]] static std::string library_version();
  /// Ends the whole job with `exit_code`; for main, after logging, when peers may be waiting.
  [[noreturn]] static void abort(int exit_code);

 private:
  static bool initialize(int& argc, char**& argv);
  bool thread_multiple_;
  MpiComm world_;
};

}  // namespace shardgpt
