#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace nccl_on_host {

/// Thrown out of a wait when the communicator is aborted.
struct Aborted {};

/// Ranks do not issue the same operations in the same order.
class Mismatch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a unique id holds: where ranks meet, and the tag that keeps communicators apart.
struct MeetingPoint {
  int root = 0;  ///< in MPI_COMM_WORLD: who made the id
  int tag = 0;
};

/// A meeting point that no other call returns, in any process. Throws std::runtime_error where MPI does not
/// let several threads in at once.
[[nodiscard]] MeetingPoint new_meeting_point();

/// What an operation is; ranks compare it before they exchange data.
struct Signature {
  std::uint64_t number = 0;
  std::uint64_t kind = 0;
  std::uint64_t type = 0;
  std::uint64_t count = 0;
  friend bool operator==(const Signature&, const Signature&) = default;
};

/// Messages between the ranks of one communicator, point to point over MPI_COMM_WORLD: no communicator of MPI
/// has to be made, which would be collective. One thread at a time.
class Transport {
 public:
  /// Waits end with Aborted once `aborted` is set.
  Transport(int rank, int size, const std::atomic<bool>& aborted)
      : rank_(rank), size_(size), aborted_(aborted) {}

  /// Finds the other ranks. Blocks until all have come. Throws Mismatch where they disagree on size or ranks.
  void connect(const MeetingPoint& meeting);
  /// Throws Mismatch where a peer is at another operation.
  void compare(const Signature& own);
  /// Sends outgoing[p] to rank p and receives incoming[p] from it; the own entries are left alone.
  void exchange(const std::vector<std::span<const std::byte>>& outgoing,
                const std::vector<std::vector<std::byte>*>& incoming);

 private:
  int rank_;
  int size_;
  const std::atomic<bool>& aborted_;
  int tag_ = 0;
  std::vector<int> world_ranks_;
};

}  // namespace nccl_on_host
