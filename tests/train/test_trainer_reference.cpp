// Training on any number of ranks against the float64 reference: losses, gradients, norms and weights.
#include <iostream>

#include "core/bf16.hpp"
#include "tests/train/trainer_fixture.hpp"

using namespace shardgpt;
using namespace shardgpt::test;

namespace {

const ReferenceCase& tiny_a() {
  static const ReferenceCase instance("tiny-a");
  return instance;
}

struct Largest {
  double value = 0;
  std::string where;
  void take(double candidate, const std::string& name) {
    if (!(candidate <= value)) {  // takes NaN too
      value = candidate;
      where = name;
    }
  }
};

struct RunErrors {
  Largest loss;
  Largest norm;
  Largest lr;
};

/// Runs all steps of the reference's AdamW run; `after_step` may change weights.
RunErrors run(
    CaseTrainer& trainer, const std::function<void()>& after_step = [] {}) {
  RunErrors errors;
  for (const auto& wanted : tiny_a().expected["adamw"]["run"]) {
    const std::int64_t step = wanted["step"];
    const StepReport report = trainer.step(step);
    const std::string name = "step " + std::to_string(step);
    errors.loss.take(relative_difference(report.scalars.loss, wanted["loss"]), name);
    errors.norm.take(relative_difference(report.scalars.grad_norm, wanted["grad_norm"]), name);
    errors.lr.take(relative_difference(report.lr, wanted["lr"]), name);
    after_step();
  }
  return errors;
}

Largest gradient_error(CaseTrainer& trainer, double targets) {
  Largest error;
  const NamedTensors found = trainer.gradients();
  for (const auto& [name, wanted] : tiny_a().grads) {
    std::vector<double> mean = found.at(name);
    for (double& value : mean) {
      value /= targets;
    }
    error.take(relative_difference(mean, wanted), name);
  }
  return error;
}

/// Keys' third of the attention bias: its true gradient is zero, and Adam amplifies the rounding.
std::vector<double> key_third(const std::vector<double>& bias) {
  const auto third = static_cast<std::ptrdiff_t>(bias.size() / 3);
  return {bias.begin() + third, bias.begin() + 2 * third};
}

std::vector<double> without_key_third(const std::vector<double>& bias) {
  const auto third = static_cast<std::ptrdiff_t>(bias.size() / 3);
  std::vector<double> rest(bias.begin(), bias.begin() + third);
  rest.insert(rest.end(), bias.begin() + 2 * third, bias.end());
  return rest;
}

void print(const std::string& what, const Largest& error) {
  if (session().world().rank() == 0) {
    std::cout << "  " << what << ": " << error.value << " (" << error.where << ")\n";
  }
}

const std::vector<std::pair<std::string, MakeOps>> implementations = {{"reference", &make_reference_ops},
                                                                      {"cpu", &make_cpu_ops}};

}  // namespace

BOOST_AUTO_TEST_SUITE(trainer_reference)

BOOST_AUTO_TEST_CASE(fp32_equals_the_reference_to_rounding) {
  for (const auto& [name, make_ops] : implementations) {
    for (const std::int64_t micro_batch : {4, 2, 1}) {
      BOOST_TEST_CONTEXT(name << " ops, micro-batch " << micro_batch) {
        CaseTrainer trainer(tiny_a(), make_ops, DType::f32, micro_batch);
        const double targets = static_cast<double>(tiny_a().rows * tiny_a().seq_len);
        const StepReport report = trainer.step(0);
        BOOST_TEST(report.scalars.targets == targets);
        BOOST_TEST(relative_difference(report.scalars.loss, tiny_a().expected["loss"]) <= 1e-6);
        BOOST_TEST(relative_difference(report.scalars.grad_norm, tiny_a().expected["grad_norm"]) <= 1e-6);
        const Largest gradient = gradient_error(trainer, targets);
        print(name + " f32 gradient", gradient);
        BOOST_TEST(gradient.value <= 5e-6, gradient.where);

        CaseTrainer whole(tiny_a(), make_ops, DType::f32, micro_batch);
        const RunErrors errors = run(whole);
        print(name + " f32 run loss", errors.loss);
        print(name + " f32 run norm", errors.norm);
        BOOST_TEST(errors.loss.value <= 2e-6, errors.loss.where);
        BOOST_TEST(errors.norm.value <= 5e-6, errors.norm.where);
        BOOST_TEST(errors.lr.value <= 1e-12, errors.lr.where);
        Largest weight;
        Largest keys;
        const NamedTensors found = whole.weights();
        for (const auto& [tensor, wanted] : tiny_a().final_weights) {
          if (tensor.ends_with("c_attn.bias")) {
            keys.take(relative_difference(key_third(found.at(tensor)), key_third(wanted)), tensor);
            weight.take(relative_difference(without_key_third(found.at(tensor)), without_key_third(wanted)),
                        tensor);
          } else {
            weight.take(relative_difference(found.at(tensor), wanted), tensor);
          }
        }
        print(name + " f32 final weights", weight);
        print(name + " f32 final key bias", keys);
        BOOST_TEST(weight.value <= 1e-5, weight.where);
        BOOST_TEST(keys.value <= 2e-2, keys.where);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(bf16_stays_near_the_reference) {
  for (const auto& [name, make_ops] : implementations) {
    for (const std::int64_t micro_batch : {4, 2, 1}) {
      BOOST_TEST_CONTEXT(name << " ops, micro-batch " << micro_batch) {
        CaseTrainer trainer(tiny_a(), make_ops, DType::bf16, micro_batch);
        const StepReport report = trainer.step(0);
        const Largest gradient = gradient_error(trainer, report.scalars.targets);
        print(name + " bf16 gradient", gradient);
        BOOST_TEST(gradient.value <= 0.03, gradient.where);
        CaseTrainer whole(tiny_a(), make_ops, DType::bf16, micro_batch);
        const RunErrors errors = run(whole);
        print(name + " bf16 run loss", errors.loss);
        print(name + " bf16 run norm", errors.norm);
        BOOST_TEST(errors.loss.value <= 2e-4, errors.loss.where);
        BOOST_TEST(errors.norm.value <= 5e-3, errors.norm.where);
      }
    }
  }
}

// Shows that the limits above would notice the loss of the FP32 master weights.
BOOST_AUTO_TEST_CASE(bf16_master_weights_would_fail) {
  CaseTrainer trainer(tiny_a(), &make_reference_ops, DType::bf16, 4);
  const auto round = [&] { trainer.for_each_master([](float& value) { value = float(bf16(value)); }); };
  const RunErrors errors = run(trainer, round);
  print("bf16 masters: loss", errors.loss);
  BOOST_TEST((errors.loss.value > 2e-4 || errors.norm.value > 5e-3));
}

BOOST_AUTO_TEST_CASE(uneven_targets_are_weighted_by_count) {
  const auto& masked = tiny_a().expected["masked"];
  const MpiComm& world = session().world();
  for (const std::int64_t micro_batch : {4, 1}) {
    CaseTrainer trainer(tiny_a(), &make_reference_ops, DType::f32, micro_batch);
    Batch batch = trainer.batch(0);
    const std::int64_t first_row = tiny_a().rows * world.rank() / world.size();
    for (std::int64_t row = 0; row < batch.rows; ++row) {
      const std::int64_t kept = masked["targets_per_row"][static_cast<std::size_t>(first_row + row)];
      for (std::int64_t t = kept; t < batch.seq_len; ++t) {
        batch.targets[static_cast<std::size_t>(row * batch.seq_len + t)] = no_target;
      }
    }
    trainer.trainer().submit_step(0, batch, trainer.lr(0), {});
    const StepReport report = trainer.trainer().collect();
    BOOST_TEST(relative_difference(report.scalars.loss, masked["loss"]) <= 1e-6);
    BOOST_TEST(relative_difference(report.scalars.grad_norm, masked["grad_norm"]) <= 1e-6);
  }
}

BOOST_AUTO_TEST_CASE(evaluation_gives_the_training_loss) {
  CaseTrainer trainer(tiny_a(), &make_reference_ops, DType::f32, 2);
  trainer.trainer().submit_evaluation(trainer.batch(0), tiny_a().rows);
  BOOST_TEST(relative_difference(trainer.trainer().collect_evaluation(), tiny_a().expected["loss"]) <= 1e-6);
  (void)run(trainer);
  trainer.trainer().submit_evaluation(trainer.batch(0), tiny_a().rows);
  BOOST_TEST(relative_difference(trainer.trainer().collect_evaluation(),
                                 tiny_a().expected["adamw"]["loss_batch0_after"]) <= 2e-6);
}

BOOST_AUTO_TEST_SUITE_END()
