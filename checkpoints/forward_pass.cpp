#include "checkpoints/forward_pass.hpp"

#include <algorithm>
#include <thread>

#include "core/error.hpp"
#include "device/host/host_device.hpp"
#include "model/gpt2.hpp"

namespace shardgpt {
namespace {

constexpr unsigned most_threads = 8;  // login nodes are shared

/// Weights of a unit in memory; zero behind its elements.
Buffer load_unit(Device& device, const TensorTable& table, const ReadUnit& read_unit, std::int64_t unit) {
  const std::int64_t elements = table.units()[static_cast<std::size_t>(unit)].elements;
  const std::int64_t capacity = unit == 0 ? Gpt2::root_capacity(table) : elements;
  Buffer buffer = device.allocate(static_cast<std::size_t>(capacity) * sizeof(float), "weights");
  read_unit(unit, std::span(buffer.as<float>(), static_cast<std::size_t>(elements)));
  return buffer;
}

}  // namespace

std::vector<float> forward_logits(const TensorTable& table, const ReadUnit& read_unit,
                                  std::span<const std::int32_t> tokens) {
  const ModelConfig& config = table.config();
  const auto length = static_cast<std::int64_t>(tokens.size());
  SHARDGPT_EXPECT(length >= 1 && length <= config.positions);
  const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1U, most_threads);
  const auto device = make_host_device({.compute_threads = static_cast<int>(threads), .hooks = nullptr});
  Stream& compute = device->stream(StreamRole::compute);
  const auto ops = make_cpu_ops(*device, DType::f32,
                                {.max_rows = 1,
                                 .seq_len = length,
                                 .embd = config.embd,
                                 .heads = config.heads,
                                 .padded_vocab = padded_vocab(config)});
  Gpt2 model(*device, *ops, table, {.max_rows = 1, .seq_len = length, .use = ActivationUse::evaluation});
  const std::vector<std::int32_t> no_targets(tokens.size(), -1);
  {
    const Buffer root = load_unit(*device, table, read_unit, 0);
    model.begin({.rows = 1, .seq_len = length}, tokens.data(), no_targets.data(), root.data());
    compute.synchronize();
  }
  for (std::int64_t block = 0; block < config.layers; ++block) {
    const Buffer params = load_unit(*device, table, read_unit, block + 1);
    model.block_forward(block, params.data());
    compute.synchronize();
  }
  const Buffer root = load_unit(*device, table, read_unit, 0);
  std::vector<float> logits(tokens.size() * static_cast<std::size_t>(config.vocab));
  model.logits(root.data(), length, logits.data());
  compute.synchronize();
  return logits;
}

}  // namespace shardgpt
