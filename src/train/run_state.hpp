#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "optim/schedule.hpp"
#include "train/trainer.hpp"

namespace shardgpt {

/// What fixes which samples a step reads; a resumed run must agree with it.
struct DataIdentity {
  std::string fingerprint;
  std::string tokenizer_hash;
  std::int64_t seq_len = 0;
  std::int64_t global_batch = 0;
  std::string order;
  std::int64_t seed = 0;
};

/// The state of a run beside weights and moments: /state of a checkpoint.
// NOLINTNEXTLINE(bugprone-exception-escape): moving JSON throws nothing
struct RunState {
  std::int64_t step = 0;    ///< batches done, skipped ones included; also the data position
  std::int64_t tokens = 0;  ///< trained on
  OptimizerCounters counters;
  std::int64_t skipped_in_a_row = 0;  ///< steps skipped as not finite since the last that was applied
  DataIdentity data;
  std::int64_t windows_per_epoch = 1;
  LearningRateSchedule schedule;
  nlohmann::json options;     ///< every option of the run that wrote it
  std::string version;        ///< of the program that wrote it
  nlohmann::json provenance;  ///< libraries, ranks and command line of the run that wrote it

  [[nodiscard]] nlohmann::json to_json() const;
  /// What a run goes on with; schedule, position and provenance are for people and not read back. Throws
  /// InputError naming `source` and the field that is missing or of another type.
  [[nodiscard]] static RunState from_json(const nlohmann::json& json, const std::string& source);
};

/// Throws InputError where going on from `saved` with `now` would read other samples.
void require_same_data(const DataIdentity& saved, const DataIdentity& now);

/// One line per option whose value differs, for the log: "--lr was 0.0003, is 0.0001".
[[nodiscard]] std::vector<std::string> changed_options(const nlohmann::json& saved,
                                                       const nlohmann::json& now);

}  // namespace shardgpt
