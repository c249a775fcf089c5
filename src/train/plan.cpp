#include "train/plan.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/checked.hpp"
#include "fsdp/shard_plan.hpp"
#include "model/gpt2.hpp"
#include "train/trainer.hpp"

namespace shardgpt {
namespace {

std::vector<UnitPlan> shard_plan(const TensorTable& table, int ranks) {
  std::vector<std::int64_t> elements;
  for (const UnitSpec& unit : table.units()) {
    elements.push_back(unit.elements);
  }
  return make_shard_plan(elements, ranks);
}

std::vector<TrainingPlan::Memory> memory_table(const TrainConfig& config, const TensorTable& table, int ranks,
                                               DType dtype, std::int64_t micro_batch) {
  const std::vector<UnitPlan> units = shard_plan(table, ranks);
  std::size_t shard = 0;
  std::size_t block = 0;
  for (const UnitPlan& unit : units) {
    shard += static_cast<std::size_t>(unit.piece);
  }
  for (std::size_t unit = 1; unit < units.size(); ++unit) {
    block = std::max(block, static_cast<std::size_t>(units[unit].padded(ranks)));
  }
  const auto root = static_cast<std::size_t>(std::max(units[0].padded(ranks), Gpt2::root_capacity(table)));
  const auto slots = static_cast<std::size_t>(config.device.unshard_slots);
  constexpr std::size_t reduce_slots = 2;
  // A single rank sums the root's gradient in its shard, which then has the vocabulary's padding too.
  const std::size_t gradients = ranks == 1 ? shard - static_cast<std::size_t>(units[0].piece) + root : shard;
  std::vector<TrainingPlan::Memory> memory = {
      {"master weights", shard * sizeof(float)},
      {"Adam moments", 2 * shard * sizeof(float)},
      {"gradient shards", gradients * sizeof(float)},
      {"unshard slots", (root + slots * block) * dtype_bytes(dtype)},
      {"reduce slots", reduce_slots * block * sizeof(float)},
      {"activations", activation_bytes(table.config(), dtype,
                                       {.max_rows = micro_batch,
                                        .seq_len = config.data.seq_len,
                                        .use = ActivationUse::training,
                                        .recompute = recompute_from_options(config.device)})}};
  if (ranks > 1) {
    memory.push_back({"root gradient", root * sizeof(float)});
  }
  return memory;
}

/// Of rank 0, which has the most.
std::size_t staging_bytes(const TensorTable& table, int ranks) {
  std::int64_t elements = 0;
  for (const UnitPlan& unit : shard_plan(table, ranks)) {
    elements += unit.count(0);
  }
  return ShardStaging::bytes(static_cast<std::size_t>(elements));
}

std::string optional_count(const std::optional<std::int64_t>& value) {
  return value ? fmt::format("{}", *value) : "n/a (no data)";
}

}  // namespace

std::size_t TrainingPlan::memory_per_rank() const {
  std::size_t sum = 0;
  for (const Memory& row : memory) {
    sum += row.bytes;
  }
  return sum;
}

std::string format_bytes(std::size_t bytes) {
  constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.2f} {}", value, units[unit]);
}

std::int64_t choose_micro_batch(const DataOptions& data, int ranks) {
  constexpr std::int64_t usual = 4;
  const std::int64_t rows = ceil_div<std::int64_t>(data.global_batch, ranks);
  return std::min(rows, data.micro_batch > 0 ? data.micro_batch : usual);
}

Recompute recompute_from_options(const DeviceOptions& options) {
  if (options.recompute == "block") {
    return Recompute::block;
  }
  return options.recompute == "mlp" ? Recompute::mlp : Recompute::none;
}

double flops_per_token(const TensorTable& table, std::int64_t seq_len) {
  const ModelConfig& model = table.config();
  return 6.0 * static_cast<double>(table.parameters()) + 6.0 * static_cast<double>(model.layers) *
                                                             static_cast<double>(model.embd) *
                                                             static_cast<double>(seq_len);
}

OpsLimits ops_limits(const TrainConfig& config, const ModelConfig& model, std::int64_t micro_batch) {
  return {.max_rows = micro_batch,
          .seq_len = config.data.seq_len,
          .embd = model.embd,
          .heads = model.heads,
          .padded_vocab = padded_vocab(model)};
}

bool saves_beside_training(const RunOptions& options, bool thread_multiple) {
  return options.save == "async" && thread_multiple &&
         (options.checkpoint_every > 0 || options.checkpoint_minutes > 0);
}

TrainingPlan make_plan(const TrainConfig& config, const TensorTable& table, int ranks,
                       const PlanInputs& inputs) {
  TrainingPlan plan;
  plan.ranks = ranks;
  plan.dtype = inputs.dtype;
  plan.micro_batch = choose_micro_batch(config.data, ranks);
  plan.micro_batches = micro_batches_per_step(config.data.global_batch, plan.micro_batch, ranks);
  plan.windows_per_epoch = inputs.windows_per_epoch;
  if (config.data.steps > 0) {
    plan.steps = config.data.steps;
  } else if (inputs.windows_per_epoch) {
    plan.steps =
        ceil_div(checked_mul(config.data.epochs, *inputs.windows_per_epoch), config.data.global_batch);
  }
  plan.memory = memory_table(config, table, ranks, inputs.dtype, plan.micro_batch);
  plan.memory.push_back({"kernel workspace", inputs.workspace_bytes});
  if (inputs.saves_beside_training) {
    plan.memory.push_back({"checkpoint staging", staging_bytes(table, ranks), /*on_host=*/true});
  }
  constexpr std::size_t kinds_saved = 3;  // param, m, v
  plan.checkpoint_bytes = static_cast<std::size_t>(table.parameters()) * kinds_saved * sizeof(float);
  plan.flops_per_token = flops_per_token(table, config.data.seq_len);
  return plan;
}

std::size_t TrainingPlan::device_bytes() const {
  std::size_t bytes = 0;
  for (const Memory& row : memory) {
    bytes += row.on_host ? 0 : row.bytes;
  }
  return bytes;
}

std::string describe_plan(const TrainingPlan& plan, const TrainConfig& config, const TensorTable& table) {
  const ModelConfig& model = table.config();
  const std::vector<UnitPlan> units = shard_plan(table, plan.ranks);
  std::string text;
  const auto line = [&text](const std::string& label, const std::string& value) {
    text += fmt::format("  {:<22}{}\n", label, value);
  };
  text += "plan\n";
  line("model",
       fmt::format("{} layers, {} heads, width {}, vocabulary {} (padded to {}), {} positions", model.layers,
                   model.heads, model.embd, model.vocab, padded_vocab(model), model.positions));
  line("parameters",
       fmt::format("{} in {} tensors (tied head counted once)", table.parameters(), table.tensors().size()));
  line("ranks", fmt::format("{}, precision {}", plan.ranks, dtype_name(plan.dtype)));
  line("units", fmt::format("{}: root of {} elements, {} blocks of {}", units.size(), units[0].elements,
                            units.size() - 1, units[1].elements));
  line("shard per rank",
       fmt::format("root {} elements, block {} (padding included)", units[0].piece, units[1].piece));
  const std::int64_t tokens_per_step = config.data.global_batch * config.data.seq_len;
  line("step", fmt::format("{} sequences of {} tokens = {} tokens; {} micro-batches of at most {} per rank",
                           config.data.global_batch, config.data.seq_len, tokens_per_step, plan.micro_batches,
                           plan.micro_batch));
  line("recompute", config.device.recompute);
  line("windows per epoch", optional_count(plan.windows_per_epoch));
  if (plan.windows_per_epoch) {
    line("steps per epoch", fmt::format("{:.2f}", static_cast<double>(*plan.windows_per_epoch) /
                                                      static_cast<double>(config.data.global_batch)));
  }
  line("steps", optional_count(plan.steps));
  line("operations", fmt::format("{:.4g} GFLOP per token = (6 P + 6 L C T), {:.4g} TFLOP per step",
                                 plan.flops_per_token * 1e-9,
                                 plan.flops_per_token * 1e-12 * static_cast<double>(tokens_per_step)));
  line("checkpoint", format_bytes(plan.checkpoint_bytes));
  text += "memory per rank\n";
  for (const TrainingPlan::Memory& row : plan.memory) {
    line(row.category, fmt::format("{:>12}", format_bytes(row.bytes)));
  }
  line("sum", fmt::format("{:>12}", format_bytes(plan.memory_per_rank())));
  return text;
}

}  // namespace shardgpt
