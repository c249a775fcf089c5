#include "dist/nccl/nccl_collectives.hpp"

#include <stdexcept>
#include <utility>

#include <cuda_runtime_api.h>

#include "core/checked.hpp"
#include "device/cuda/cuda_check.hpp"
#include "device/cuda/cuda_stream.hpp"
#include "dist/nccl/collective_kernels.hpp"
#include "dist/nccl/nccl_check.hpp"
#include "dist/nccl/nccl_comm.hpp"
#include "dist/nccl/nccl_watch.hpp"
#include "dist/nccl/single_rank_collectives.hpp"

namespace shardgpt {
namespace {

constexpr std::size_t most_summed_values = 64;  // all_reduce_sum is for the few sums of a step

ncclDataType_t nccl_type(DType type) {
  switch (type) {
    case DType::f32:
      return ncclFloat32;
    case DType::bf16:
      return ncclBfloat16;
    default:
      throw std::logic_error("all-gather of a type that holds no real numbers");
  }
}

class NcclCollectives final : public Collectives {
 public:
  NcclCollectives(const MpiComm& parent, Device& device, std::chrono::seconds time_out)
      : device_(device),
        failure_(failure_of(device.stream(StreamRole::gather))),
        gathered_sums_(device.allocate(
            most_summed_values * static_cast<std::size_t>(parent.size()) * sizeof(double), "sums")),
        sums_taken_(device.make_event()),
        comm_(parent, time_out),
        watch_(comm_, failure_, time_out) {}

  [[nodiscard]] int rank() const override { return comm_.rank(); }
  [[nodiscard]] int size() const override { return comm_.size(); }

  void all_gather_in_place(void* full, DType type, std::size_t count, Stream& stream) override {
    const void* own = static_cast<const std::byte*>(full) + own_piece(count) * dtype_bytes(type);
    issue("all-gather", count, stream, [&](ncclComm_t comm, cudaStream_t raw) {
      return ncclAllGather(own, full, count, nccl_type(type), comm, raw);
    });
  }

  void reduce_scatter(float* full, float* shard, std::size_t count, bool accumulate,
                      Stream& stream) override {
    float* result = accumulate ? full + own_piece(count) : shard;
    const bool issued = issue("reduce-scatter", count, stream, [&](ncclComm_t comm, cudaStream_t raw) {
      return ncclReduceScatter(full, result, count, ncclFloat32, ncclSum, comm, raw);
    });
    if (issued && accumulate) {
      cuda::add_to(shard, result, count, raw_stream(stream));
    }
  }

  void all_reduce_sum(double* values, std::size_t count, Stream& stream) override {
    if (count > most_summed_values) {
      throw std::logic_error("all-reduce of more values than there is room for");
    }
    auto* all = gathered_sums_.as<double>();
    double* own = all + own_piece(count);
    stream.wait(*sums_taken_, "sums taken");
    device_.copy(own, values, count * sizeof(double), stream);
    const bool issued = issue("all-reduce", count, stream, [&](ncclComm_t comm, cudaStream_t raw) {
      return ncclAllGather(own, all, count, ncclFloat64, comm, raw);
    });
    if (issued) {
      cuda::sum_over_ranks(values, all, size(), narrow<int>(count), raw_stream(stream));
    }
    stream.record(*sums_taken_);
  }

 private:
  /// Elements in front of this rank's piece.
  [[nodiscard]] std::size_t own_piece(std::size_t count) const {
    return count * static_cast<std::size_t>(comm_.rank());
  }

  /// False where there is nothing to do: no element, or the device has failed and runs nothing more that
  /// matters.
  template <class Call>
  bool issue(const char* what, std::size_t count, Stream& stream, Call&& call) {
    if (count == 0 || failure_.happened()) {
      return false;
    }
    watch_.begin(what, stream);
    comm_.issue(what, [&](ncclComm_t comm) { return call(comm, raw_stream(stream)); });
    watch_.end(stream);
    return true;
  }

  Device& device_;
  Failure& failure_;
  Buffer gathered_sums_;  // [size][most_summed_values]
  std::unique_ptr<Event> sums_taken_;
  NcclComm comm_;
  NcclWatch watch_;
};

}  // namespace

std::unique_ptr<Collectives> make_nccl_collectives(const MpiComm& parent, Device& device,
                                                   std::chrono::seconds time_out) {
  if (parent.size() == 1) {
    return make_single_rank_collectives(device);
  }
  return std::make_unique<NcclCollectives>(parent, device, time_out);
}

}  // namespace shardgpt
