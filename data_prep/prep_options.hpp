#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace shardgpt {

/// shardgpt-prep encode
struct EncodeOptions {
  std::vector<std::string> files;
  std::string vocab;
  std::string merges;
  std::string output;
  std::string name = "tokens";
  std::string format = "auto";
  std::string jsonl_key = "text";
  bool skip_bad_lines = false;
  std::string document = "file";
  bool no_eot = false;
  std::string end_of_text = "<|endoftext|>";
  bool parse_special = false;
  double val_fraction = 0;
  std::int64_t shard_tokens = 100'000'000;
  std::int64_t threads = 0;
  bool overwrite = false;

  /// Throws InputError naming the option whose value is out of range.
  void validate() const;
};

/// shardgpt-prep train-bpe
struct TrainBpeOptions {
  std::vector<std::string> files;
  std::int64_t vocab_size = 0;
  std::string output;
  std::string format = "auto";
  std::string jsonl_key = "text";
  bool skip_bad_lines = false;
  std::string end_of_text = "<|endoftext|>";
  std::int64_t min_count = 2;
  std::int64_t threads = 0;
  bool overwrite = false;

  void validate() const;
};

/// shardgpt-prep decode
struct DecodeOptions {
  std::vector<std::string> files;
  std::string vocab;
  std::string merges;
  std::string output = "-";
  bool skip_eot = false;
  std::string end_of_text = "<|endoftext|>";
};

/// shardgpt-prep inspect
struct InspectOptions {
  std::string location;
};

/// shardgpt-prep verify
struct VerifyOptions {
  std::string folder;
};

/// What the command line asks for. `text` is help or version to be printed instead of work.
struct PrepCommand {
  std::string text;
  std::variant<EncodeOptions, TrainBpeOptions, DecodeOptions, InspectOptions, VerifyOptions> options;
};

/// Throws InputError for a command line that makes no sense.
[[nodiscard]] PrepCommand parse_prep_options(int argc, const char* const* argv);

}  // namespace shardgpt
