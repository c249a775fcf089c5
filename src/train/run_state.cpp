#include "train/run_state.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/error.hpp"

namespace shardgpt {
namespace {

/// Options that say how, where or how long a start of the run works, not what it computes.
constexpr std::array per_start_options = {std::string_view("run-dir"),
                                          std::string_view("resume"),
                                          std::string_view("discard-run"),
                                          std::string_view("data"),
                                          std::string_view("val-data"),
                                          std::string_view("init-from"),
                                          std::string_view("max-seconds"),
                                          std::string_view("max-steps-this-run"),
                                          std::string_view("dry-run"),
                                          std::string_view("plan-ranks"),
                                          std::string_view("threads"),
                                          std::string_view("log-every"),
                                          std::string_view("keep"),
                                          std::string_view("checkpoint-every"),
                                          std::string_view("val-every"),
                                          std::string_view("peak-tflops"),
                                          std::string_view("peer-timeout"),
                                          std::string_view("checkpoint-minutes"),
                                          std::string_view("save"),
                                          std::string_view("save-timeout"),
                                          std::string_view("keep-every"),
                                          std::string_view("mtbf-hours"),
                                          std::string_view("checkpoint-files"),
                                          std::string_view("checkpoint-ranks-per-file"),
                                          std::string_view("checkpoint-io"),
                                          std::string_view("checkpoint-hint"),
                                          std::string_view("checkpoint-alignment"),
                                          std::string_view("checkpoint-verify")};

template <class Value>
void require_same(const char* option, const Value& saved, const Value& now) {
  const nlohmann::json saved_json = saved;
  const nlohmann::json now_json = now;
  SHARDGPT_REQUIRE(saved == now,
                   std::string("cannot go on with the data order of the checkpoint: ") + option + " was " +
                       saved_json.dump() + " and is " + now_json.dump() +
                       ". Give the old value, or start a new run from its weights with --init-from");
}

}  // namespace

nlohmann::json RunState::to_json() const {
  const std::int64_t sample = step * data.global_batch;
  return {{"step", step},
          {"tokens", tokens},
          {"adam_step", counters.adam_step},
          {"skipped", counters.skipped},
          {"skipped_in_a_row", skipped_in_a_row},
          {"data",
           {{"fingerprint", data.fingerprint},
            {"tokenizer_hash", data.tokenizer_hash},
            {"seq_len", data.seq_len},
            {"global_batch", data.global_batch},
            {"order", data.order},
            {"seed", data.seed}}},
          {"position",
           {{"sample", sample},
            {"epoch", sample / windows_per_epoch},
            {"window", sample % windows_per_epoch},
            {"windows_per_epoch", windows_per_epoch}}},
          {"schedule",
           {{"kind", schedule_name(schedule.kind)},
            {"lr", schedule.lr},
            {"min_lr", schedule.min_lr},
            {"warmup_steps", schedule.warmup_steps},
            {"decay_steps", schedule.decay_steps},
            {"total_steps", schedule.total_steps}}},
          {"options", options},
          {"version", version},
          {"provenance", provenance}};
}

RunState RunState::from_json(const nlohmann::json& json, const std::string& source) {
  RunState state;
  try {
    json.at("step").get_to(state.step);
    json.at("tokens").get_to(state.tokens);
    json.at("adam_step").get_to(state.counters.adam_step);
    json.at("skipped").get_to(state.counters.skipped);
    const nlohmann::json& data = json.at("data");
    data.at("fingerprint").get_to(state.data.fingerprint);
    data.at("tokenizer_hash").get_to(state.data.tokenizer_hash);
    data.at("seq_len").get_to(state.data.seq_len);
    data.at("global_batch").get_to(state.data.global_batch);
    data.at("order").get_to(state.data.order);
    data.at("seed").get_to(state.data.seed);
    state.options = json.at("options");
    json.at("version").get_to(state.version);
    state.skipped_in_a_row = json.value("skipped_in_a_row", std::int64_t{0});
  } catch (const nlohmann::json::exception& error) {
    throw_input_error(source + ": this is not the state of a training run (" + error.what() +
                      "): use it with --init-from, which takes weights only");
  }
  return state;
}

void require_same_data(const DataIdentity& saved, const DataIdentity& now) {
  require_same("--seq-len", saved.seq_len, now.seq_len);
  require_same("--global-batch", saved.global_batch, now.global_batch);
  require_same("--order", saved.order, now.order);
  require_same("--seed", saved.seed, now.seed);
  require_same("the tokenizer of --data", saved.tokenizer_hash, now.tokenizer_hash);
  require_same("the content of --data (fingerprint)", saved.fingerprint, now.fingerprint);
}

std::vector<std::string> changed_options(const nlohmann::json& saved, const nlohmann::json& now) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : now.items()) {
    const bool per_start =
        std::ranges::find(per_start_options, std::string_view(name)) != per_start_options.end();
    if (!per_start && saved.contains(name) && saved[name] != value) {
      lines.push_back("--" + name + " was " + saved[name].dump() + ", is " + value.dump());
    }
  }
  return lines;
}

}  // namespace shardgpt
