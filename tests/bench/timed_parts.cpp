#include "bench/timed_parts.hpp"

#include <chrono>
#include <utility>

namespace shardgpt::bench {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class TimedOps final : public Ops {
 public:
  TimedOps(std::unique_ptr<Ops> ops, StepParts& parts) : ops_(std::move(ops)), parts_(parts) {}

  [[nodiscard]] DType dtype() const override { return ops_->dtype(); }
  void embedding_forward(Stream& stream, BatchShape shape, const std::int32_t* tokens, Matrix wte, Matrix wpe,
                         Matrix out) override {
    const StepParts::Section section(parts_, stream, "embedding");
    ops_->embedding_forward(stream, shape, tokens, wte, wpe, out);
  }
  void embedding_backward(Stream& stream, BatchShape shape, const std::int32_t* tokens, Matrix dout,
                          float* dwte, float* dwpe) override {
    const StepParts::Section section(parts_, stream, "embedding");
    ops_->embedding_backward(stream, shape, tokens, dout, dwte, dwpe);
  }
  void layer_norm_forward(Stream& stream, const LayerNormForward& args) override {
    const StepParts::Section section(parts_, stream, "layer norm");
    ops_->layer_norm_forward(stream, args);
  }
  void layer_norm_backward(Stream& stream, const LayerNormBackward& args) override {
    const StepParts::Section section(parts_, stream, "layer norm");
    ops_->layer_norm_backward(stream, args);
  }
  void linear_forward(Stream& stream, Matrix in, Matrix weight, const void* bias, Matrix out) override {
    const StepParts::Section section(parts_, stream, "products");
    ops_->linear_forward(stream, in, weight, bias, out);
  }
  void linear_gelu_forward(Stream& stream, Matrix in, Matrix weight, const void* bias, Matrix pre,
                           Matrix out) override {
    const StepParts::Section section(parts_, stream, "products with gelu");
    ops_->linear_gelu_forward(stream, in, weight, bias, pre, out);
  }
  void linear_backward(Stream& stream, const LinearBackward& args) override {
    const StepParts::Section section(parts_, stream, "products");
    ops_->linear_backward(stream, args);
  }
  void gelu_backward(Stream& stream, Matrix pre, Matrix dout, Matrix dpre) override {
    const StepParts::Section section(parts_, stream, "gelu backward");
    ops_->gelu_backward(stream, pre, dout, dpre);
  }
  void attention_forward(Stream& stream, BatchShape shape, std::int64_t heads, Matrix qkv, Matrix out,
                         float* lse) override {
    const StepParts::Section section(parts_, stream, "attention");
    ops_->attention_forward(stream, shape, heads, qkv, out, lse);
  }
  void attention_backward(Stream& stream, BatchShape shape, std::int64_t heads, Matrix qkv, Matrix out,
                          const float* lse, Matrix dout, Matrix dqkv) override {
    const StepParts::Section section(parts_, stream, "attention");
    ops_->attention_backward(stream, shape, heads, qkv, out, lse, dout, dqkv);
  }
  void classifier(Stream& stream, const Classifier& args) override {
    const StepParts::Section section(parts_, stream, "classifier");
    ops_->classifier(stream, args);
  }
  void logits(Stream& stream, Matrix in, Matrix wte, std::int64_t vocab, float* logits) override {
    ops_->logits(stream, in, wte, vocab, logits);
  }
  void norm_squared(Stream& stream, const float* values, std::int64_t count, double* out) override {
    const StepParts::Section section(parts_, stream, "gradient norm");
    ops_->norm_squared(stream, values, count, out);
  }
  void sum_norms(Stream& stream, const double* norms, std::int64_t count, StepSums* sums) override {
    const StepParts::Section section(parts_, stream, "gradient norm");
    ops_->sum_norms(stream, norms, count, sums);
  }
  void finish_step(Stream& stream, const StepSums* reduced, double clip, StepScalars* scalars) override {
    const StepParts::Section section(parts_, stream, "gradient norm");
    ops_->finish_step(stream, reduced, clip, scalars);
  }
  void adamw(Stream& stream, const AdamWPiece& piece, const StepScalars* scalars) override {
    const StepParts::Section section(parts_, stream, "optimizer");
    ops_->adamw(stream, piece, scalars);
  }

 private:
  std::unique_ptr<Ops> ops_;
  StepParts& parts_;
};

class TimedCollectives final : public Collectives {
 public:
  TimedCollectives(std::unique_ptr<Collectives> collectives, StepParts& parts)
      : collectives_(std::move(collectives)), parts_(parts) {}

  [[nodiscard]] int rank() const override { return collectives_->rank(); }
  [[nodiscard]] int size() const override { return collectives_->size(); }
  void all_gather_in_place(void* full, DType type, std::size_t count, Stream& stream) override {
    const StepParts::Section section(parts_, stream, "gather", StepParts::Begin::one_task_before);
    collectives_->all_gather_in_place(full, type, count, stream);
  }
  void reduce_scatter(float* full, float* shard, std::size_t count, bool accumulate,
                      Stream& stream) override {
    const StepParts::Section section(parts_, stream, "reduce");
    collectives_->reduce_scatter(full, shard, count, accumulate, stream);
  }
  void all_reduce_sum(double* values, std::size_t count, Stream& stream) override {
    const StepParts::Section section(parts_, stream, "all-reduce");
    collectives_->all_reduce_sum(values, count, stream);
  }

 private:
  std::unique_ptr<Collectives> collectives_;
  StepParts& parts_;
};

}  // namespace

StepParts::Section::Section(StepParts& parts, Stream& stream, const char* part, Begin begin)
    : parts_(parts), stream_(stream), part_(part) {
  submit(stream_, [&clock = parts.clocks_[static_cast<std::size_t>(stream.role())], begin] {
    clock.started = begin == Begin::here ? clock.latest : clock.previous;
  });
}

StepParts::Section::~Section() {
  submit(stream_, [&parts = parts_, role = stream_.role(), part = part_] {
    const Clock& clock = parts.clocks_[static_cast<std::size_t>(role)];
    parts.add(role, part, clock.latest - clock.started);
  });
}

void StepParts::before_task(StreamRole role) {
  Clock& clock = clocks_[static_cast<std::size_t>(role)];
  clock.previous = clock.latest;
  clock.latest = now();
}

void StepParts::add(StreamRole role, const char* part, double seconds) {
  const std::lock_guard lock(mutex_);
  (role == StreamRole::compute ? compute_ : communication_)[part] += seconds;
}

void StepParts::clear() {
  const std::lock_guard lock(mutex_);
  compute_.clear();
  communication_.clear();
}

std::map<std::string, double> StepParts::compute() const {
  const std::lock_guard lock(mutex_);
  return compute_;
}

std::map<std::string, double> StepParts::communication() const {
  const std::lock_guard lock(mutex_);
  return communication_;
}

std::unique_ptr<Ops> make_timed_ops(std::unique_ptr<Ops> ops, StepParts& parts) {
  return std::make_unique<TimedOps>(std::move(ops), parts);
}

std::unique_ptr<Collectives> make_timed_collectives(std::unique_ptr<Collectives> collectives,
                                                    StepParts& parts) {
  return std::make_unique<TimedCollectives>(std::move(collectives), parts);
}

}  // namespace shardgpt::bench
