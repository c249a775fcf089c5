#include "tests/cuda_on_host/nccl/transport.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <string>
#include <thread>

#include <mpi.h>

namespace nccl_on_host {
namespace {

void check(int code, const char* call) {
  if (code != MPI_SUCCESS) {
    throw std::runtime_error(std::string(call) + " failed");
  }
}

int world_rank() {
  int rank = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  return rank;
}

int byte_count(std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw std::runtime_error("messages of 2 GiB and more are not modelled");
  }
  return static_cast<int>(bytes);
}

/// Where the requests have not completed when an abort ends the wait, MPI may still use their memory: the
/// caller must not free it then.
void wait_all(std::vector<MPI_Request>& requests, const std::atomic<bool>& aborted) {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    int done = 0;
    check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
          "MPI_Testall");
    if (done != 0) {
      return;
    }
    if (aborted) {
      throw Aborted();
    }
    if (std::chrono::steady_clock::now() - start < std::chrono::microseconds(100)) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
}

}  // namespace

MeetingPoint new_meeting_point() {
  int level = MPI_THREAD_SINGLE;
  check(MPI_Query_thread(&level), "MPI_Query_thread");
  if (level != MPI_THREAD_MULTIPLE) {
    throw std::runtime_error("NCCL on the host needs MPI_THREAD_MULTIPLE");
  }
  static std::atomic<int> made = 0;
  int size = 0;
  check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  const int root = world_rank();
  return {root, 1 + root + size * made++};
}

void Transport::connect(const MeetingPoint& meeting) {
  tag_ = meeting.tag;
  world_ranks_.assign(static_cast<std::size_t>(size_), -1);
  const int own = world_rank();
  std::vector<MPI_Request> requests(1, MPI_REQUEST_NULL);
  std::array<int, 3> greeting = {rank_, size_, own};
  if (own != meeting.root) {
    check(MPI_Isend(greeting.data(), 3, MPI_INT, meeting.root, tag_, MPI_COMM_WORLD, requests.data()),
          "MPI_Isend");
    wait_all(requests, aborted_);
    check(MPI_Irecv(world_ranks_.data(), size_, MPI_INT, meeting.root, tag_, MPI_COMM_WORLD, requests.data()),
          "MPI_Irecv");
    wait_all(requests, aborted_);
    if (world_ranks_[static_cast<std::size_t>(rank_)] != own) {
      throw Mismatch("ranks disagree on the size of the communicator or on their numbers");
    }
    return;
  }
  world_ranks_[static_cast<std::size_t>(rank_)] = own;
  bool agreed = true;
  std::vector<int> peers;
  for (int peer = 1; peer < size_; ++peer) {
    check(MPI_Irecv(greeting.data(), 3, MPI_INT, MPI_ANY_SOURCE, tag_, MPI_COMM_WORLD, requests.data()),
          "MPI_Irecv");
    wait_all(requests, aborted_);
    peers.push_back(greeting[2]);
    agreed = agreed && greeting[1] == size_ && greeting[0] >= 0 && greeting[0] < size_ &&
             world_ranks_[static_cast<std::size_t>(greeting[0])] == -1;
    if (agreed) {
      world_ranks_[static_cast<std::size_t>(greeting[0])] = greeting[2];
    }
  }
  if (!agreed) {
    std::ranges::fill(world_ranks_, -1);  // no rank finds itself there
  }
  for (const int peer : peers) {
    check(MPI_Isend(world_ranks_.data(), size_, MPI_INT, peer, tag_, MPI_COMM_WORLD, requests.data()),
          "MPI_Isend");
    wait_all(requests, aborted_);
  }
  if (!agreed) {
    throw Mismatch("ranks disagree on the size of the communicator or on their numbers");
  }
}

void Transport::compare(const Signature& own) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(&own, 1));
  std::vector<std::vector<std::byte>> received(static_cast<std::size_t>(size_),
                                               std::vector<std::byte>(sizeof(Signature)));
  std::vector<std::vector<std::byte>*> incoming;
  for (auto& buffer : received) {
    incoming.push_back(&buffer);
  }
  exchange(std::vector(static_cast<std::size_t>(size_), bytes), incoming);
  for (int peer = 0; peer < size_; ++peer) {
    if (peer != rank_ && !std::ranges::equal(received[static_cast<std::size_t>(peer)], bytes)) {
      throw Mismatch("rank " + std::to_string(peer) + " is at another operation than rank " +
                     std::to_string(rank_) + " at operation " + std::to_string(own.number));
    }
  }
}

void Transport::exchange(const std::vector<std::span<const std::byte>>& outgoing,
                         const std::vector<std::vector<std::byte>*>& incoming) {
  // Copies of their own, which are left to MPI for good where the wait is aborted.
  auto* kept = new std::vector<std::vector<std::byte>>;
  std::vector<MPI_Request> requests;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) {
      continue;
    }
    const auto index = static_cast<std::size_t>(peer);
    auto& in = kept->emplace_back(incoming[index]->size());
    check(MPI_Irecv(in.data(), byte_count(in.size()), MPI_BYTE, world_ranks_[index], tag_, MPI_COMM_WORLD,
                    &requests.emplace_back(MPI_REQUEST_NULL)),
          "MPI_Irecv");
    auto& out = kept->emplace_back(outgoing[index].begin(), outgoing[index].end());
    check(MPI_Isend(out.data(), byte_count(out.size()), MPI_BYTE, world_ranks_[index], tag_, MPI_COMM_WORLD,
                    &requests.emplace_back(MPI_REQUEST_NULL)),
          "MPI_Isend");
  }
  wait_all(requests, aborted_);
  std::size_t slot = 0;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer != rank_) {
      incoming[static_cast<std::size_t>(peer)]->swap((*kept)[slot]);
      slot += 2;
    }
  }
  delete kept;
}

}  // namespace nccl_on_host
