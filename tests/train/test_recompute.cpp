// Activations that are computed again change no bit, and take less memory.
#include "tests/train/trainer_fixture.hpp"

using namespace shardgpt;
using namespace shardgpt::test;

namespace {

/// What a short run leaves, to the bit.
struct Outcome {
  std::vector<double> losses;
  std::vector<double> norms;
  NamedTensors gradients;  // of the last step
  NamedTensors weights;
  bool operator==(const Outcome&) const = default;
};

struct Run {
  Outcome outcome;
  std::size_t activation_bytes = 0;
};

Run run(const ReferenceCase& reference, const MakeOps& make_ops, DType dtype, Recompute recompute) {
  CaseTrainer trainer(reference, make_ops, dtype, /*micro_batch=*/1, nullptr, 2, nullptr, Staging::no,
                      recompute);
  Run result;
  for (std::int64_t step = 0; step < 3; ++step) {
    const StepReport report = trainer.step(step);
    result.outcome.losses.push_back(report.scalars.loss);
    result.outcome.norms.push_back(report.scalars.grad_norm);
  }
  result.outcome.gradients = trainer.gradients();
  result.outcome.weights = trainer.weights();
  for (const MemoryUse& use : trainer.device().memory_use()) {
    if (use.category == "activations") {
      result.activation_bytes = use.peak_bytes;
    }
  }
  return result;
}

/// Deeper than the reference case, which has two blocks: so that several are computed again.
ReferenceCase deep_case() {
  ReferenceCase deep("tiny-a");
  deep.config.layers = 5;
  const TensorTable table(deep.config);
  for (std::int64_t index = 0; index < std::ssize(table.tensors()); ++index) {
    const TensorSpec& tensor = table.tensors()[static_cast<std::size_t>(index)];
    std::vector<float> values(static_cast<std::size_t>(tensor.elements));
    initialize_tensor(table, index, 7, 0, values);
    deep.model[tensor.name].assign(values.begin(), values.end());
  }
  return deep;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(recompute)

BOOST_AUTO_TEST_CASE(losses_gradients_and_weights_are_the_same_bits) {
  const ReferenceCase deep = deep_case();
  const std::vector<std::pair<std::string, MakeOps>> implementations = {{"reference", &make_reference_ops},
                                                                        {"cpu", &make_cpu_ops}};
  for (const auto& [name, make_ops] : implementations) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      BOOST_TEST_CONTEXT(name << " " << dtype_name(dtype)) {
        const Run kept = run(deep, make_ops, dtype, Recompute::none);
        const Run mlp = run(deep, make_ops, dtype, Recompute::mlp);
        const Run block = run(deep, make_ops, dtype, Recompute::block);
        REQUIRE_ON_ALL_RANKS(mlp.outcome == kept.outcome);
        REQUIRE_ON_ALL_RANKS(block.outcome == kept.outcome);
        BOOST_TEST(mlp.activation_bytes < kept.activation_bytes);
        BOOST_TEST(block.activation_bytes < mlp.activation_bytes);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(memory_of_a_block_shrinks_as_stated) {
  ModelConfig config;
  config.embd = 64;
  config.heads = 4;
  const auto bytes = [&](Recompute recompute, std::int64_t layers) {
    config.layers = layers;
    return activation_bytes(config, DType::bf16, {.max_rows = 2, .seq_len = 32, .recompute = recompute});
  };
  const std::size_t width = 2UL * 32 * 64 * sizeof(bf16);  // of all tokens
  const std::size_t statistics = 2UL * 32 * sizeof(float);
  const auto block = [&](Recompute recompute) { return bytes(recompute, 9) - bytes(recompute, 8); };
  BOOST_TEST(block(Recompute::none) == 16 * width + (4 + 4) * statistics);  // four, and one per head
  BOOST_TEST(block(Recompute::mlp) == 7 * width + (2 + 4) * statistics);
  BOOST_TEST(block(Recompute::block) == width);
}

BOOST_AUTO_TEST_SUITE_END()
