#include "dist/nccl/single_rank_collectives.hpp"

#include "device/cuda/cuda_stream.hpp"
#include "dist/nccl/collective_kernels.hpp"

namespace shardgpt {
namespace {

class SingleRankCollectives final : public Collectives {
 public:
  explicit SingleRankCollectives(Device& device) : device_(device) {}

  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }

  void all_gather_in_place(void* /*full*/, DType /*type*/, std::size_t /*count*/,
                           Stream& /*stream*/) override {}
  void reduce_scatter(float* full, float* shard, std::size_t count, bool accumulate,
                      Stream& stream) override {
    if (accumulate) {
      cuda::add_to(shard, full, count, raw_stream(stream));
    } else {
      device_.copy(shard, full, count * sizeof(float), stream);
    }
  }
  void all_reduce_sum(double* /*values*/, std::size_t /*count*/, Stream& /*stream*/) override {}

 private:
  Device& device_;
};

}  // namespace

std::unique_ptr<Collectives> make_single_rank_collectives(Device& device) {
  return std::make_unique<SingleRankCollectives>(device);
}

}  // namespace shardgpt
