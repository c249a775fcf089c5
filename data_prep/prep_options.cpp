#include "data_prep/prep_options.hpp"

#include <algorithm>
#include <type_traits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "core/error.hpp"
#include "tokens/shard_format.hpp"

namespace shardgpt {
namespace {

constexpr const char* input_group = "Input";
constexpr const char* tokenizer_group = "Tokenizer";
constexpr const char* output_group = "Output";
constexpr const char* speed_group = "Speed";

// The tables: the only place where an option is named and described. A name without dashes is positional.

template <class Visit>
void for_each_option(EncodeOptions& o, Visit&& visit) {
  visit("FILE", o.files, "Text or JSONL files, - for standard input", input_group);
  visit("--format", o.format, "auto (.jsonl and .ndjson are JSONL, else text), text or jsonl", input_group);
  visit("--jsonl-key", o.jsonl_key, "Key of the text in a JSONL object", input_group);
  visit("--skip-bad-lines", o.skip_bad_lines, "Skip and count malformed JSONL lines instead of stopping",
        input_group);
  visit("--document", o.document,
        "What a document of a text file is: file, line (without its line end, empty lines skipped) or none "
        "(a file's text and no end-of-text)",
        input_group);
  visit("--vocab", o.vocab, "vocab.json of the tokenizer", tokenizer_group);
  visit("--merges", o.merges, "merges.txt of the tokenizer", tokenizer_group);
  visit("--end-of-text", o.end_of_text, "The token that ends documents", tokenizer_group);
  visit("--no-eot", o.no_eot, "Append no end-of-text after documents", tokenizer_group);
  visit("--parse-special", o.parse_special,
        "Turn the end-of-text marker in the text into its id (default: it is ordinary text)",
        tokenizer_group);
  visit("--output", o.output, "Folder for the set", output_group);
  visit("--name", o.name, "Shards are NAME_000000.bin, ...", output_group);
  visit("--shard-tokens", o.shard_tokens, "Tokens per shard", output_group);
  visit("--val-fraction", o.val_fraction,
        "Put this fraction of the documents into OUTPUT/val, the others into OUTPUT/train", output_group);
  visit("--overwrite", o.overwrite, "Replace a set that is already there", output_group);
  visit("--threads", o.threads, "Worker threads; 0: one per hardware thread. The result is the same",
        speed_group);
}

template <class Visit>
void for_each_option(TrainBpeOptions& o, Visit&& visit) {
  visit("FILE", o.files, "Text or JSONL files, - for standard input", input_group);
  visit("--format", o.format, "auto, text or jsonl, as for encode", input_group);
  visit("--jsonl-key", o.jsonl_key, "Key of the text in a JSONL object", input_group);
  visit("--skip-bad-lines", o.skip_bad_lines, "Skip and count malformed JSONL lines instead of stopping",
        input_group);
  visit("--vocab-size", o.vocab_size, "Entries: 256 bytes, merges, and the end-of-text token",
        tokenizer_group);
  visit("--end-of-text", o.end_of_text, "The token that ends documents; it gets the last id",
        tokenizer_group);
  visit("--min-count", o.min_count, "Merge only pairs that occur at least so often", tokenizer_group);
  visit("--output", o.output, "Folder for vocab.json and merges.txt", output_group);
  visit("--overwrite", o.overwrite, "Replace files that are already there", output_group);
  visit("--threads", o.threads, "Worker threads; 0: one per hardware thread. The result is the same",
        speed_group);
}

template <class Visit>
void for_each_option(DecodeOptions& o, Visit&& visit) {
  visit("FILE", o.files, "Shards or folders with a set", input_group);
  visit("--vocab", o.vocab, "vocab.json of the tokenizer; default: the copy beside the shards",
        tokenizer_group);
  visit("--merges", o.merges, "merges.txt of the tokenizer", tokenizer_group);
  visit("--end-of-text", o.end_of_text, "The token that ends documents", tokenizer_group);
  visit("--skip-eot", o.skip_eot, "Leave end-of-text tokens out", output_group);
  visit("--output", o.output, "File for the bytes, - for standard output", output_group);
}

template <class Visit>
void for_each_option(InspectOptions& o, Visit&& visit) {
  visit("LOCATION", o.location, "A folder with a set, a shard, or a glob pattern", input_group);
}

template <class Visit>
void for_each_option(VerifyOptions& o, Visit&& visit) {
  visit("DIR", o.folder, "A folder with a set", input_group);
}

/// Options without which a command makes no sense.
bool is_required(const std::string& command, const std::string& name) {
  return name[0] != '-' || (name == "--output" && command != "decode") ||
         (command == "encode" && (name == "--vocab" || name == "--merges")) || name == "--vocab-size";
}

template <class Options>
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& description,
                      Options& options) {
  CLI::App* command = app.add_subcommand(name, description);
  for_each_option(options, [&](const std::string& flag, auto& value, const char* help, const char* group) {
    CLI::Option* option = nullptr;
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, bool>) {
      option = command->add_flag(flag, value, help);
    } else {
      option = command->add_option(flag, value, help);
      if (is_required(name, flag)) {
        option->required();
      } else {
        option->capture_default_str();
      }
    }
    option->group(group);
  });
  return command;
}

bool is_command(const CLI::App& app, const std::string& name) {
  const std::vector<const CLI::App*> commands = app.get_subcommands([](const CLI::App*) { return true; });
  return std::any_of(commands.begin(), commands.end(),
                     [&](const CLI::App* one) { return one->get_name() == name; });
}

void require_format(const std::string& format) {
  SHARDGPT_REQUIRE(format == "auto" || format == "text" || format == "jsonl",
                   "--format is '" + format + "', wanted auto, text or jsonl");
}

void require_threads(std::int64_t threads) {
  SHARDGPT_REQUIRE(threads >= 0 && threads <= 4096,
                   fmt::format("--threads is {}, wanted 0 to 4096", threads));
}

void require_end_of_text(const std::string& text) {
  // A long document is cut before white space; a marker without any is never cut in two.
  SHARDGPT_REQUIRE(!text.empty() && text.find_first_of(" \t\n\r\v\f") == std::string::npos,
                   "--end-of-text is '" + text + "', wanted a token without white space");
}

}  // namespace

void EncodeOptions::validate() const {
  require_format(format);
  require_threads(threads);
  require_end_of_text(end_of_text);
  SHARDGPT_REQUIRE(document == "file" || document == "line" || document == "none",
                   "--document is '" + document + "', wanted file, line or none");
  SHARDGPT_REQUIRE(val_fraction >= 0 && val_fraction < 1,
                   fmt::format("--val-fraction is {}, wanted 0 to below 1", val_fraction));
  SHARDGPT_REQUIRE(shard_tokens >= 1 && shard_tokens <= max_shard_tokens,
                   fmt::format("--shard-tokens is {}, wanted 1 to {}", shard_tokens, max_shard_tokens));
}

void TrainBpeOptions::validate() const {
  require_format(format);
  require_threads(threads);
  require_end_of_text(end_of_text);
  SHARDGPT_REQUIRE(
      vocab_size >= 257 && vocab_size <= 10'000'000,
      fmt::format("--vocab-size is {}, wanted at least 257 (256 bytes and the end-of-text token)",
                  vocab_size));
  SHARDGPT_REQUIRE(min_count >= 1, fmt::format("--min-count is {}, wanted 1 or more", min_count));
}

PrepCommand parse_prep_options(int argc, const char* const* argv) {
  CLI::App app("Makes, checks and reads token shards for shardgpt-train.", "shardgpt-prep");
  app.set_version_flag("--version", std::string("shardgpt-prep ") + SHARDGPT_VERSION);
  app.require_subcommand(1);
  EncodeOptions encode;
  TrainBpeOptions train_bpe;
  DecodeOptions decode;
  InspectOptions inspect;
  VerifyOptions verify;
  const CLI::App* const encode_command =
      add_command(app, "encode", "Turns text into a set of token shards", encode);
  const CLI::App* const train_command =
      add_command(app, "train-bpe", "Makes a GPT-2 style tokenizer from text", train_bpe);
  const CLI::App* const decode_command =
      add_command(app, "decode", "Turns shards back into the exact text", decode);
  const CLI::App* const inspect_command =
      add_command(app, "inspect", "Shows what a set or shard holds", inspect);
  add_command(app, "verify", "Compares a set with its dataset.json: sizes, hashes, ids", verify);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return {app.help(), {}};
  } catch (const CLI::CallForVersion& version) {
    return {version.what() + std::string("\n"), {}};
  } catch (const CLI::ParseError& error) {
    SHARDGPT_REQUIRE(argc < 2 || argv[1][0] == '-' || is_command(app, argv[1]),
                     std::string("there is no command '") + argv[1] + "' (shardgpt-prep --help lists them)");
    throw InputError(std::string(error.what()) + " (shardgpt-prep --help shows the usage)");
  }
  const auto command = [&]() -> PrepCommand {
    if (encode_command->parsed()) {
      return {{}, encode};
    }
    if (train_command->parsed()) {
      return {{}, train_bpe};
    }
    if (decode_command->parsed()) {
      return {{}, decode};
    }
    if (inspect_command->parsed()) {
      return {{}, inspect};
    }
    return {{}, verify};
  }();
  if (encode_command->parsed()) {
    encode.validate();
  } else if (train_command->parsed()) {
    train_bpe.validate();
  }
  return command;
}

}  // namespace shardgpt
