#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "data_prep/document_reader.hpp"
#include "data_prep/progress_meter.hpp"

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
  std::string text_column = "text";
  std::string document = "file";
  std::string separator;
  std::string detokenize = "none";
  bool no_eot = false;
  std::string end_of_text = "<|endoftext|>";
  bool parse_special = false;
  double val_fraction = 0;
  std::int64_t shard_tokens = 100'000'000;
  std::int64_t threads = 0;
  std::int64_t block_bytes = 1 << 17;  // text and ids of a block stay in a core's cache
  std::string progress = "auto";
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
  std::string text_column = "text";
  bool skip_bad_lines = false;
  std::string end_of_text = "<|endoftext|>";
  std::int64_t min_count = 2;
  std::int64_t threads = 0;
  std::string progress = "auto";
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
  std::string vocab{};
  std::string merges{};
  std::int64_t top = 10;
  bool quick = false;

  void validate() const;
};

/// shardgpt-prep verify
struct VerifyOptions {
  std::string folder;
};

/// The values that options stand for; the options are valid.
[[nodiscard]] ReaderOptions reader_options(const EncodeOptions& options);
[[nodiscard]] ReaderOptions reader_options(const TrainBpeOptions& options);
[[nodiscard]] Detokenize detokenize_option(const std::string& name);
[[nodiscard]] ShowProgress progress_option(const std::string& name);
/// \n, \r, \t and \\ as the characters that they stand for.
[[nodiscard]] std::string unescaped(const std::string& text);

/// shardgpt-prep import
struct ImportOptions {
  std::vector<std::string> files;
  std::string from;
  std::string vocab;
  std::string merges;
  std::int64_t vocab_size = 0;
  std::string end_of_text = "<|endoftext|>";
  std::int64_t end_of_text_id = -1;
  bool no_eot = false;
  std::string output;
  std::string name = "tokens";
  std::int64_t shard_tokens = 100'000'000;
  bool overwrite = false;
  std::string progress = "auto";

  void validate() const;
};

/// shardgpt-prep export
struct ExportOptions {
  std::string source;
  std::string to;
  std::int64_t end_of_text_id = -1;
  bool one_document = false;
  std::string output;
  std::string name = "tokens";
  std::int64_t shard_tokens = 100'000'000;
  bool overwrite = false;

  void validate() const;
};

/// What the command line asks for. `text` is help or version to be printed instead of work.
struct PrepCommand {
  std::string text;
  std::variant<EncodeOptions, TrainBpeOptions, DecodeOptions, InspectOptions, VerifyOptions, ImportOptions,
               ExportOptions>
      options;
};

/// Throws InputError for a command line that makes no sense.
[[nodiscard]] PrepCommand parse_prep_options(int argc, const char* const* argv);

}  // namespace shardgpt
