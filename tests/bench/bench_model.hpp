#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "kernels/ops.hpp"

namespace shardgpt::bench {

struct BenchConfig {
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t embd = 768;
  std::int64_t vocab = 50257;
  std::int64_t batch = 4;
  std::int64_t seq_len = 512;

  [[nodiscard]] std::int64_t tokens() const { return batch * seq_len; }
  [[nodiscard]] std::int64_t padded_vocab() const { return (vocab + 63) / 64 * 64; }
  [[nodiscard]] OpsLimits limits() const { return {batch, seq_len, embd, heads, padded_vocab()}; }
  /// 6*P + 6*L*C*T, P with the tied table once: forward and backward.
  [[nodiscard]] double flops_per_token() const;
};

/// What is measured: time passed, or time that the compute thread had a processor: on a machine shared with
/// other work the latter is the steadier number, and with one thread it means something.
enum class BenchClock { wall, cpu };
[[nodiscard]] double seconds_now(BenchClock clock);

/// Time that the compute stream spends in each kind of operation.
class OpTimes {
 public:
  OpTimes(Stream& compute, BenchClock clock) : compute_(compute), clock_(clock) {}
  /// Issues what `issue` issues and charges its time to `kind`.
  template <class Issue>
  void charge(const std::string& kind, Issue&& issue) {
    start();
    issue();
    stop(kind);
  }
  void clear() { seconds_.clear(); }
  [[nodiscard]] const std::map<std::string, double>& seconds() const { return seconds_; }
  [[nodiscard]] double total() const;

 private:
  void start();
  void stop(const std::string& kind);

  Stream& compute_;
  BenchClock clock_;
  double started_ = 0;                     // used by the compute thread
  std::map<std::string, double> seconds_;  // likewise, until the stream is synchronised
};

/// A GPT-2 with random weights on one device, unsharded, and the memory of one step.
class BenchModel {
 public:
  BenchModel(Device& device, Ops& ops, const BenchConfig& config);
  /// Issues forward and backward of one micro-batch and waits for them.
  void step(OpTimes& times);
  /// Mean loss of the last step.
  [[nodiscard]] double loss() const;

 private:
  struct Linear {
    Matrix weight;
    void* bias = nullptr;
    float* dweight = nullptr;
    float* dbias = nullptr;
  };
  struct LayerNorm {
    void* weight = nullptr;
    void* bias = nullptr;
    float* dweight = nullptr;
    float* dbias = nullptr;
    float* mean = nullptr;
    float* rstd = nullptr;
    Matrix input;
    Matrix out;
  };
  struct Block {
    LayerNorm ln1;
    LayerNorm ln2;
    Linear qkv;
    Linear projection;
    Linear expand;
    Linear contract;
    Matrix qkv_out;
    Matrix attention_out;
    Matrix pre;
    Matrix hidden;
    float* lse = nullptr;
  };

  void* values(std::int64_t count, double scale);
  float* floats(std::int64_t count);
  Matrix activations(std::int64_t cols) {
    return {values(config_.tokens() * cols, 0), config_.tokens(), cols};
  }
  Linear make_linear(std::int64_t in, std::int64_t out);
  LayerNorm make_layer_norm();
  void forward_norm(OpTimes& times, const LayerNorm& norm, Matrix residual, Matrix branch);
  void backward_norm(OpTimes& times, const LayerNorm& norm, Matrix dout, Matrix dresidual_in);
  void backward_linear(OpTimes& times, const char* kind, const Linear& linear, Matrix in, Matrix dout,
                       Matrix din);
  void forward(OpTimes& times);
  void backward(OpTimes& times);

  Device& device_;
  Ops& ops_;
  BenchConfig config_;
  Stream& compute_;
  std::deque<Buffer> buffers_;
  std::vector<Block> blocks_;
  LayerNorm final_norm_;
  Matrix wte_;
  Matrix wpe_;
  Matrix embedded_;
  Matrix branch_;
  Matrix dresidual_;
  Matrix dnarrow_;
  Matrix dwide_;
  Matrix dqkv_;
  float* dwte_ = nullptr;
  float* dwpe_ = nullptr;
  StepSums* sums_ = nullptr;
  std::int32_t* tokens_ = nullptr;
  std::int32_t* targets_ = nullptr;
};

}  // namespace shardgpt::bench
