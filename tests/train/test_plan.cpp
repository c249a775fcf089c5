// The plan's figures are those of the run.
#include <chrono>
#include <map>
#include <string>

#include "device/host/host_device.hpp"
#include "dist/mpi/mpi_collectives.hpp"
#include "tests/support/mpi_test.hpp"
#include "train/devices.hpp"
#include "train/plan.hpp"
#include "train/trainer.hpp"

using namespace shardgpt;
using namespace shardgpt::test;

namespace {

std::int64_t chosen(std::int64_t global_batch, std::int64_t micro_batch, int ranks) {
  DataOptions data;
  data.global_batch = global_batch;
  data.micro_batch = micro_batch;
  return choose_micro_batch(data, ranks);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(plan)

BOOST_AUTO_TEST_CASE(memory_is_what_the_device_holds) {
  for (const char* precision : {"bf16", "fp32"}) {
    for (const auto& [vocab, recompute] :
         {std::pair{503, "none"}, std::pair{64, "none"}, std::pair{64, "mlp"}, std::pair{64, "block"}}) {
      TrainConfig config;
      config.device.recompute = recompute;
      config.data.seq_len = 24;
      config.data.global_batch = 7;
      config.data.micro_batch = 2;
      config.data.steps = 1;
      config.device.precision = precision;
      config.device.unshard_slots = 3;
      ModelConfig model;
      model.layers = 4;
      model.heads = 3;
      model.embd = 48;
      model.vocab = vocab;
      model.positions = 32;
      const TensorTable table(model);
      const int ranks = session().world().size();
      const DType dtype = dtype_from_options(config.device);
      const std::int64_t micro_batch = choose_micro_batch(config.data, ranks);
      const OpsLimits limits = ops_limits(config, model, micro_batch);
      const bool staging = vocab == 64;
      const TrainingPlan plan =
          make_plan(config, table, ranks,
                    {.dtype = dtype,
                     .workspace_bytes = ops_workspace_bytes({}, config.device, 1, limits),
                     .windows_per_epoch = std::nullopt,
                     .saves_beside_training = staging});

      const auto device = make_host_device({});
      const auto ops = make_ops(*device, config.device, limits);
      const auto collectives = make_mpi_collectives(session().world(), std::chrono::seconds(60));
      const Trainer trainer(*device, *ops, *collectives, table,
                            {.seq_len = config.data.seq_len,
                             .global_batch = config.data.global_batch,
                             .micro_batch = micro_batch,
                             .unshard_slots = 3,
                             .recompute = recompute_from_options(config.device),
                             .staging = staging});
      std::map<std::string, std::size_t> planned;
      for (const auto& row : plan.memory) {
        planned[row.category] = row.bytes;
      }
      std::map<std::string, std::size_t> used;
      for (const MemoryUse& use : device->memory_use()) {
        if (use.category != "sums") {  // a few hundred bytes
          used[use.category] = use.peak_bytes;
        }
      }
      BOOST_TEST(planned.size() == used.size());
      for (const auto& [category, bytes] : planned) {
        if (category == "checkpoint staging" && session().world().rank() > 0) {
          BOOST_TEST(used[category] <= bytes);  // no padding is copied: the plan is for rank 0
          continue;
        }
        BOOST_TEST(used[category] == bytes, category << ": planned " << bytes << ", used " << used[category]);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(saves_go_on_beside_training_where_they_can) {
  RunOptions options;
  BOOST_TEST(!saves_beside_training(options, true));  // only the last one: nothing to go on with
  options.checkpoint_every = 5;
  BOOST_TEST(saves_beside_training(options, true));
  BOOST_TEST(!saves_beside_training(options, false));
  options.save = "sync";
  BOOST_TEST(!saves_beside_training(options, true));
  options = {};
  options.checkpoint_minutes = 0.5;
  BOOST_TEST(saves_beside_training(options, true));
}

BOOST_AUTO_TEST_CASE(formulas) {
  ModelConfig model = *model_preset("gpt2");
  BOOST_TEST(TensorTable(model).parameters() == 124'439'808);
  BOOST_TEST(TensorTable(model).tensors().size() == 148U);
  BOOST_TEST(flops_per_token(TensorTable(model), 1024) == 6.0 * 124'439'808 + 6.0 * 12 * 768 * 1024);
  BOOST_TEST(chosen(7, 0, 2) == 4);
  BOOST_TEST(chosen(7, 0, 7) == 1);
  BOOST_TEST(chosen(7, 9, 1) == 7);
  BOOST_TEST(micro_batches_per_step(7, 2, 2) == 2);
  BOOST_TEST(micro_batches_per_step(1, 4, 3) == 1);
}

BOOST_AUTO_TEST_SUITE_END()
