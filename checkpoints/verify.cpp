#include "checkpoint/verify.hpp"

#include <algorithm>

#include "checkpoint/checkpoint_error.hpp"
#include "checkpoint/config_json.hpp"
#include "checkpoints/convert_command.hpp"
#include "checkpoints/model_difference.hpp"
#include "checkpoints/number_text.hpp"
#include "checkpoints/source_checkpoint.hpp"

namespace shardgpt {
namespace {

constexpr std::size_t lines_listed = 10;

void verify_checksums(const std::filesystem::path& path, std::ostream& out) {
  const CheckpointInfo info = read_checkpoint_info(resolve_checkpoint(path));
  std::string problems;
  for (const std::string& problem : verify_tensors(info)) {
    problems += (problems.empty() ? "" : "; ") + problem;
  }
  if (!problems.empty()) {
    throw DamagedCheckpoint(info.path, problems);
  }
  out << info.path.string() << " is sound: the checksums of " << TensorTable(info.config).tensors().size()
      << " tensors and their "
      << "moments, of the table, the configuration and the state are right\n";
}

[[noreturn]] void throw_other_model(const WeightSource& ours, const WeightSource& theirs,
                                    const std::string& difference) {
  std::string message =
      theirs.path().string() + " is not the model of " + ours.path().string() + ": " + difference;
  const std::vector<std::string> tensors = differing_tensors(ours, theirs);
  for (std::size_t i = 0; i < std::min(tensors.size(), lines_listed); ++i) {
    message += "; " + tensors[i];
  }
  if (tensors.size() > lines_listed) {
    message += "; and " + std::to_string(tensors.size() - lines_listed) + " more tensors";
  }
  throw Error(message);
}

void verify_against(const VerifyOptions& options, std::ostream& out) {
  const auto ours = open_weight_source(options.checkpoint);
  const auto theirs = open_weight_source(options.against);
  const ModelConfig& config = ours->table().config();
  const std::string difference = config_difference(theirs->table().config(), config);
  SHARDGPT_REQUIRE(difference.empty(), theirs->path().string() + " is of another model than " +
                                           ours->path().string() + ": " + difference);
  const std::int64_t tokens = std::min(options.tokens, config.positions);
  const LogitDifference found = compare_logits(*ours, *theirs, tokens);
  const std::string text = "the largest difference of " + std::to_string(tokens) + " x " +
                           std::to_string(config.vocab) + " logits is " + number_text(found.largest, 3) +
                           " (limit " + number_text(options.limit, 3) + "; the largest logit is " +
                           number_text(found.largest_logit, 3) + ")";
  if (!(found.largest <= options.limit)) {
    throw_other_model(
        *ours, *theirs,
        text + ", at position " + std::to_string(found.position) + ", token " + std::to_string(found.token));
  }
  out << theirs->path().string() << " computes the same: " << text << '\n';
}

}  // namespace

void verify_checkpoint(const VerifyOptions& options, std::ostream& out) {
  SHARDGPT_REQUIRE(options.tokens >= 1,
                   "--tokens is " + std::to_string(options.tokens) + ", wanted 1 or more");
  SHARDGPT_REQUIRE(options.limit >= 0, "--limit is " + number_text(options.limit, 3) + ", wanted 0 or more");
  verify_checksums(options.checkpoint, out);
  if (!options.against.empty()) {
    verify_against(options, out);
  }
}

}  // namespace shardgpt
