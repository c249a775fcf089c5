#include "dist/mpi/mpi_collectives.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "core/checked.hpp"
#include "core/sanitizer.hpp"
#include "device/host/host_device.hpp"
#include "dist/mpi/mpi_wait.hpp"

namespace shardgpt {
namespace {

/// Runs on the communication thread only.
class MpiTransport {
 public:
  MpiTransport(const MpiComm& parent, std::chrono::seconds time_out)
      : comm_(parent.duplicate()), time_out_(time_out) {}

  [[nodiscard]] int rank() const { return comm_.rank(); }
  [[nodiscard]] int size() const { return comm_.size(); }

  void all_gather_in_place(void* full, MPI_Datatype type, std::size_t element_bytes, std::size_t count) {
    ++operation_;
    if (size() == 1) {
      return;
    }
    const std::size_t piece_bytes = count * element_bytes;
    annotate_read(static_cast<std::byte*>(full) + piece_bytes * index(rank()), piece_bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    SHARDGPT_MPI(MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, full, narrow<int>(count), type,
                                comm_.raw(), &request));
    wait(std::span(&request, 1), "all-gather");
    annotate_write(full, piece_bytes * index(size()));
  }

  void reduce_scatter(const float* full, float* shard, std::size_t count, bool accumulate) {
    ++operation_;
    if (full == shard && size() == 1 && !accumulate) {
      return;
    }
    // Peers' pieces of one chunk stay in cache between their arrival and the sum.
    const std::size_t chunk =
        std::max<std::size_t>(std::size_t{1} << 14U, (std::size_t{1} << 19U) / index(size()));
    for (std::size_t begin = 0; begin < count; begin += chunk) {
      const std::size_t length = std::min(chunk, count - begin);
      exchange(full, count, begin, length);
      sum_in_rank_order(full + index(rank()) * count + begin, shard + begin, length, accumulate);
    }
  }

  void all_reduce_sum(double* values, std::size_t count) {
    ++operation_;
    if (size() == 1) {
      return;
    }
    std::vector<double> all(count * index(size()));
    annotate_read(values, count * sizeof(double));
    MPI_Request request = MPI_REQUEST_NULL;
    SHARDGPT_MPI(MPI_Iallgather(values, narrow<int>(count), MPI_DOUBLE, all.data(), narrow<int>(count),
                                MPI_DOUBLE, comm_.raw(), &request));
    wait(std::span(&request, 1), "all-reduce");
    annotate_write(all.data(), all.size() * sizeof(double));
    for (std::size_t i = 0; i < count; ++i) {
      double sum = 0;
      for (std::size_t peer = 0; peer < index(size()); ++peer) {
        sum += all[peer * count + i];
      }
      values[i] = sum;
    }
  }

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

  /// Sends every peer its chunk of `full` and receives theirs of this rank's piece into staging_.
  void exchange(const float* full, std::size_t count, std::size_t begin, std::size_t length) {
    staging_.resize(std::max(staging_.size(), length * index(size() - 1)));
    requests_.clear();
    std::size_t slot = 0;
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank()) {
        continue;
      }
      MPI_Request& request = requests_.emplace_back(MPI_REQUEST_NULL);
      SHARDGPT_MPI(MPI_Irecv(staging_.data() + slot * length, narrow<int>(length), MPI_FLOAT, peer, tag,
                             comm_.raw(), &request));
      ++slot;
    }
    for (int step = 1; step < size(); ++step) {
      const int peer = (rank() + step) % size();  // spreads the load over peers
      const float* piece = full + index(peer) * count + begin;
      annotate_read(piece, length * sizeof(float));
      MPI_Request& request = requests_.emplace_back(MPI_REQUEST_NULL);
      SHARDGPT_MPI(MPI_Isend(piece, narrow<int>(length), MPI_FLOAT, peer, tag, comm_.raw(), &request));
    }
    wait(requests_, "reduce-scatter");
    annotate_write(staging_.data(), length * index(size() - 1) * sizeof(float));
  }

  void sum_in_rank_order(const float* own, float* shard, std::size_t length, bool accumulate) const {
    if (size() == 1) {
      add_or_copy(own, shard, length, accumulate);
      return;
    }
    // Blocks keep the running sum in cache over all ranks.
    constexpr std::size_t block = 4096;
    float sum[block];
    for (std::size_t begin = 0; begin < length; begin += block) {
      const std::size_t end = std::min(block, length - begin);
      std::size_t slot = 0;
      for (int peer = 0; peer < size(); ++peer) {
        const float* piece = peer == rank() ? own + begin : staging_.data() + (slot++) * length + begin;
        if (peer == 0) {
          std::memcpy(sum, piece, end * sizeof(float));
        } else {
          for (std::size_t i = 0; i < end; ++i) {
            sum[i] += piece[i];
          }
        }
      }
      add_or_copy(sum, shard + begin, end, accumulate);
    }
  }

  static void add_or_copy(const float* from, float* to, std::size_t count, bool accumulate) {
    if (!accumulate) {
      std::memcpy(to, from, count * sizeof(float));
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      to[i] += from[i];
    }
  }

  void wait(std::span<MPI_Request> requests, const char* what) {
    if (!wait_sleeping(requests, time_out_)) {
      throw Error(std::string("peers have not completed ") + what + " (operation " +
                  std::to_string(operation_) + " of this run) for " + std::to_string(time_out_.count()) +
                  " s: a rank is lost or stuck");
    }
  }

  static constexpr int tag = 1;
  MpiComm comm_;
  std::chrono::seconds time_out_;
  std::uint64_t operation_ = 0;
  std::vector<float> staging_;  // [size - 1][chunk]
  std::vector<MPI_Request> requests_;
};

class MpiCollectives final : public Collectives {
 public:
  MpiCollectives(const MpiComm& parent, std::chrono::seconds time_out) : transport_(parent, time_out) {}

  [[nodiscard]] int rank() const override { return transport_.rank(); }
  [[nodiscard]] int size() const override { return transport_.size(); }

  void all_gather_in_place(void* full, DType type, std::size_t count, Stream& stream) override {
    const MPI_Datatype mpi_type = type == DType::bf16 ? MPI_UINT16_T : MPI_UINT32_T;
    submit(stream, [this, full, mpi_type, bytes = dtype_bytes(type), count] {
      transport_.all_gather_in_place(full, mpi_type, bytes, count);
    });
  }
  void reduce_scatter(float* full, float* shard, std::size_t count, bool accumulate,
                      Stream& stream) override {
    submit(stream, [=, this] { transport_.reduce_scatter(full, shard, count, accumulate); });
  }
  void all_reduce_sum(double* values, std::size_t count, Stream& stream) override {
    submit(stream, [=, this] { transport_.all_reduce_sum(values, count); });
  }

 private:
  MpiTransport transport_;
};

}  // namespace

std::unique_ptr<Collectives> make_mpi_collectives(const MpiComm& parent, std::chrono::seconds time_out) {
  return std::make_unique<MpiCollectives>(parent, time_out);
}

}  // namespace shardgpt
