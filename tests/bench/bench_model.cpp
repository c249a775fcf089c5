#include "bench/bench_model.hpp"

#include <ctime>

#include "core/bf16.hpp"
#include "core/philox.hpp"
#include "device/host/host_device.hpp"

namespace shardgpt::bench {

double BenchConfig::flops_per_token() const {
  const auto c = static_cast<double>(embd);
  const auto l = static_cast<double>(layers);
  const double parameters = l * (12 * c * c + 13 * c) + static_cast<double>(vocab + seq_len) * c + 2 * c;
  return 6 * parameters + 6 * l * c * static_cast<double>(seq_len);
}

double seconds_now(BenchClock clock) {
  timespec now{};
  clock_gettime(clock == BenchClock::cpu ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double OpTimes::total() const {
  double sum = 0;
  for (const auto& [kind, seconds] : seconds_) {
    sum += seconds;
  }
  return sum;
}

void OpTimes::start() {
  submit(compute_, [this] { started_ = seconds_now(clock_); });
}

void OpTimes::stop(const std::string& kind) {
  submit(compute_, [this, kind] { seconds_[kind] += seconds_now(clock_) - started_; });
}

BenchModel::BenchModel(Device& device, Ops& ops, const BenchConfig& config)
    : device_(device), ops_(ops), config_(config), compute_(device.stream(StreamRole::compute)) {
  const std::int64_t c = config.embd;
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    Block block;
    block.ln1 = make_layer_norm();
    block.qkv = make_linear(c, 3 * c);
    block.projection = make_linear(c, c);
    block.ln2 = make_layer_norm();
    block.expand = make_linear(c, 4 * c);
    block.contract = make_linear(4 * c, c);
    block.qkv_out = activations(3 * c);
    block.attention_out = activations(c);
    block.pre = activations(4 * c);
    block.hidden = activations(4 * c);
    block.lse = floats(config.batch * config.heads * config.seq_len);
    blocks_.push_back(block);
  }
  final_norm_ = make_layer_norm();
  wte_ = {values(config.padded_vocab() * c, 0.02), config.padded_vocab(), c};
  wpe_ = {values(config.seq_len * c, 0.01), config.seq_len, c};
  embedded_ = activations(c);
  branch_ = activations(c);
  dresidual_ = activations(c);
  dnarrow_ = activations(c);
  dwide_ = activations(4 * c);
  dqkv_ = activations(3 * c);
  dwte_ = floats(config.padded_vocab() * c);
  dwpe_ = floats(config.seq_len * c);
  buffers_.push_back(device_.allocate(sizeof(StepSums), "benchmark"));
  sums_ = buffers_.back().as<StepSums>();
  for (std::int32_t** ids : {&tokens_, &targets_}) {
    buffers_.push_back(
        device_.allocate(static_cast<std::size_t>(config.tokens()) * sizeof(std::int32_t), "benchmark"));
    *ids = buffers_.back().as<std::int32_t>();
    const RandomStream random(1, RandomPurpose::test, ids == &tokens_ ? 1 : 2);
    for (std::int64_t i = 0; i < config.tokens(); ++i) {
      (*ids)[i] = static_cast<std::int32_t>(random.uniform(static_cast<std::uint64_t>(i)) *
                                            static_cast<double>(config.vocab));
    }
  }
}

/// Pseudo-random, uniform with deviation `scale`; cheap, because there are many.
void* BenchModel::values(std::int64_t count, double scale) {
  const std::size_t size = static_cast<std::size_t>(count);
  buffers_.push_back(device_.allocate(size * dtype_bytes(ops_.dtype()), "benchmark"));
  void* data = buffers_.back().data();
  std::uint32_t state = 12345U + static_cast<std::uint32_t>(buffers_.size());
  for (std::size_t i = 0; scale != 0 && i < size; ++i) {
    state = state * 1664525U + 1013904223U;
    const auto value = static_cast<float>((static_cast<double>(state) / 4294967296.0 - 0.5) * 3.46 * scale);
    if (ops_.dtype() == DType::f32) {
      static_cast<float*>(data)[i] = value;
    } else {
      static_cast<bf16*>(data)[i] = bf16(value);
    }
  }
  return data;
}

float* BenchModel::floats(std::int64_t count) {
  buffers_.push_back(device_.allocate(static_cast<std::size_t>(count) * sizeof(float), "benchmark"));
  return buffers_.back().as<float>();
}

BenchModel::Linear BenchModel::make_linear(std::int64_t in, std::int64_t out) {
  return {{values(in * out, 0.02), in, out}, values(out, 0.02), floats(in * out), floats(out)};
}

BenchModel::LayerNorm BenchModel::make_layer_norm() {
  const std::int64_t c = config_.embd;
  return {values(c, 1.0),           values(c, 0.02),          floats(c),      floats(c),
          floats(config_.tokens()), floats(config_.tokens()), activations(c), activations(c)};
}

void BenchModel::forward_norm(OpTimes& times, const LayerNorm& norm, Matrix residual, Matrix branch) {
  times.charge("layer_norm forward", [&] {
    ops_.layer_norm_forward(compute_, {.residual_in = residual,
                                       .branch = branch,
                                       .residual_out = norm.input,
                                       .weight = norm.weight,
                                       .bias = norm.bias,
                                       .out = norm.out,
                                       .mean = norm.mean,
                                       .rstd = norm.rstd});
  });
}

void BenchModel::backward_norm(OpTimes& times, const LayerNorm& norm, Matrix dout, Matrix dresidual_in) {
  times.charge("layer_norm backward", [&] {
    ops_.layer_norm_backward(compute_, {.dout = dout,
                                        .input = norm.input,
                                        .weight = norm.weight,
                                        .mean = norm.mean,
                                        .rstd = norm.rstd,
                                        .dresidual_in = dresidual_in,
                                        .dresidual_out = dresidual_,
                                        .dweight = norm.dweight,
                                        .dbias = norm.dbias});
  });
}

void BenchModel::backward_linear(OpTimes& times, const char* kind, const Linear& linear, Matrix in,
                                 Matrix dout, Matrix din) {
  times.charge(kind, [&] {
    ops_.linear_backward(compute_, {.in = in,
                                    .weight = linear.weight,
                                    .dout = dout,
                                    .din = din,
                                    .dweight = linear.dweight,
                                    .dbias = linear.dbias});
  });
}

void BenchModel::forward(OpTimes& times) {
  const BatchShape shape{config_.batch, config_.seq_len};
  times.charge("embedding forward",
               [&] { ops_.embedding_forward(compute_, shape, tokens_, wte_, wpe_, embedded_); });
  Matrix residual = embedded_;
  Matrix branch;
  for (const Block& block : blocks_) {
    forward_norm(times, block.ln1, residual, branch);
    times.charge("linear forward", [&] {
      ops_.linear_forward(compute_, block.ln1.out, block.qkv.weight, block.qkv.bias, block.qkv_out);
    });
    times.charge("attention forward", [&] {
      ops_.attention_forward(compute_, shape, config_.heads, block.qkv_out, block.attention_out, block.lse);
    });
    times.charge("linear forward", [&] {
      ops_.linear_forward(compute_, block.attention_out, block.projection.weight, block.projection.bias,
                          branch_);
    });
    forward_norm(times, block.ln2, block.ln1.input, branch_);
    times.charge("linear+gelu forward", [&] {
      ops_.linear_gelu_forward(compute_, block.ln2.out, block.expand.weight, block.expand.bias, block.pre,
                               block.hidden);
    });
    times.charge("linear forward", [&] {
      ops_.linear_forward(compute_, block.hidden, block.contract.weight, block.contract.bias, branch_);
    });
    residual = block.ln2.input;
    branch = branch_;
  }
  forward_norm(times, final_norm_, residual, branch);
}

void BenchModel::backward(OpTimes& times) {
  const BatchShape shape{config_.batch, config_.seq_len};
  times.charge("classifier", [&] {
    ops_.classifier(compute_, {.in = final_norm_.out,
                               .wte = wte_,
                               .vocab = config_.vocab,
                               .targets = targets_,
                               .sums = sums_,
                               .din = dnarrow_,
                               .dwte = dwte_});
  });
  backward_norm(times, final_norm_, dnarrow_, {});
  for (std::size_t layer = blocks_.size(); layer-- > 0;) {
    const Block& block = blocks_[layer];
    backward_linear(times, "linear backward", block.contract, block.hidden, dresidual_, dwide_);
    times.charge("gelu backward", [&] { ops_.gelu_backward(compute_, block.pre, dwide_, dwide_); });
    backward_linear(times, "linear backward", block.expand, block.ln2.out, dwide_, dnarrow_);
    backward_norm(times, block.ln2, dnarrow_, dresidual_);
    backward_linear(times, "linear backward", block.projection, block.attention_out, dresidual_, dnarrow_);
    times.charge("attention backward", [&] {
      ops_.attention_backward(compute_, shape, config_.heads, block.qkv_out, block.attention_out, block.lse,
                              dnarrow_, dqkv_);
    });
    backward_linear(times, "linear backward", block.qkv, block.ln1.out, dqkv_, dnarrow_);
    backward_norm(times, block.ln1, dnarrow_, dresidual_);
  }
  times.charge("embedding backward",
               [&] { ops_.embedding_backward(compute_, shape, tokens_, dresidual_, dwte_, dwpe_); });
}

void BenchModel::step(OpTimes& times) {
  device_.fill_zero(sums_, sizeof(StepSums), compute_);
  forward(times);
  backward(times);
  compute_.synchronize();
}

double BenchModel::loss() const {
  return sums_->loss / sums_->targets;
}

}  // namespace shardgpt::bench
