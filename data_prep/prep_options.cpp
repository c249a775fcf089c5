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
constexpr const char* hidden_group = "";  // not in the help: for tests

constexpr const char* files_help =
    "Text, JSONL or Parquet files, also .gz and .zst; folders stand for the files in them; - is standard "
    "input";

constexpr const char* progress_help = "auto (if standard error is a terminal), always or never";

// The tables: the only place where an option is named and described. A name without dashes is positional.

template <class Visit>
void for_each_option(EncodeOptions& o, Visit&& visit) {
  visit("FILE", o.files, files_help, input_group);
  visit("--format", o.format,
        "auto (.jsonl and .ndjson are JSONL, .parquet is Parquet, else text), text, jsonl or parquet",
        input_group);
  visit("--jsonl-key", o.jsonl_key, "Key of the text in a JSONL object", input_group);
  visit("--skip-bad-lines", o.skip_bad_lines, "Skip and count malformed JSONL lines instead of stopping",
        input_group);
  visit("--text-column", o.text_column, "Column of the text in a Parquet file", input_group);
  visit(
      "--document", o.document,
      "What a document of a text file is: file, line (without its line end, empty lines skipped), heading "
      "(a WikiText article: from ' = Title = ' to the next), separator (the text between --separator), or "
      "none "
      "(a file's text and no end-of-text). Rows of JSONL and Parquet are documents; by heading, Parquet rows "
      "are WikiText's lines",
      input_group);
  visit("--separator", o.separator, "Text between documents, with \\n, \\r, \\t, \\\\ for special characters",
        input_group);
  visit("--detokenize", o.detokenize,
        "none (the text as it is) or wikitext (undo WikiText's spacing, ' @-@ ' to '-' and so on; recorded)",
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
  visit("--progress", o.progress, progress_help, speed_group);
  visit("--block-bytes", o.block_bytes, "Size of the blocks for the threads. The result is the same",
        hidden_group);
}

template <class Visit>
void for_each_option(TrainBpeOptions& o, Visit&& visit) {
  visit("FILE", o.files, files_help, input_group);
  visit("--format", o.format, "auto, text, jsonl or parquet, as for encode", input_group);
  visit("--text-column", o.text_column, "Column of the text in a Parquet file", input_group);
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
  visit("--progress", o.progress, progress_help, speed_group);
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
  visit("--vocab", o.vocab, "vocab.json of the tokenizer; default: the copy in the folder", tokenizer_group);
  visit("--merges", o.merges, "merges.txt of the tokenizer", tokenizer_group);
  visit("--top", o.top, "How many of the most frequent ids to show", output_group);
  visit("--quick", o.quick, "Count no ids", speed_group);
}

template <class Visit>
void for_each_option(ImportOptions& o, Visit&& visit) {
  visit("FILE", o.files,
        "Files in order: .bin of llm.c or nanoGPT; of Megatron-LM the .bin or .idx, the other one lies "
        "beside it",
        input_group);
  visit("--from", o.from, "llmc, nanogpt (uint16 without a header) or megatron", input_group);
  visit("--vocab", o.vocab, "vocab.json of the tokenizer that made the ids", tokenizer_group);
  visit("--merges", o.merges, "merges.txt of that tokenizer", tokenizer_group);
  visit("--vocab-size", o.vocab_size, "Its entries, where the files are not at hand (GPT-2: 50257)",
        tokenizer_group);
  visit("--end-of-text", o.end_of_text, "The token that ends documents", tokenizer_group);
  visit("--end-of-text-id", o.end_of_text_id,
        "Its id, where the files are not at hand (GPT-2: 50256); -1: unknown", tokenizer_group);
  visit("--no-eot", o.no_eot, "Add no end-of-text to Megatron-LM documents that have none", tokenizer_group);
  visit("--output", o.output, "Folder for the set", output_group);
  visit("--name", o.name, "Shards are NAME_000000.bin, ...", output_group);
  visit("--shard-tokens", o.shard_tokens, "Tokens per shard", output_group);
  visit("--overwrite", o.overwrite, "Replace a set that is already there", output_group);
  visit("--progress", o.progress, progress_help, speed_group);
}

template <class Visit>
void for_each_option(ExportOptions& o, Visit&& visit) {
  visit("LOCATION", o.source, "A folder with a set, a shard, or a glob pattern", input_group);
  visit(
      "--to", o.to,
      "llmc (shards alone), nanogpt (NAME.bin, uint16 without a header) or megatron (NAME.bin and NAME.idx)",
      output_group);
  visit("--end-of-text-id", o.end_of_text_id,
        "The id that ends documents for megatron; default: as dataset.json says", tokenizer_group);
  visit("--one-document", o.one_document, "For megatron: everything is one document", tokenizer_group);
  visit("--output", o.output, "Folder for the files", output_group);
  visit("--name", o.name, "Files are NAME.bin, NAME.idx or NAME_000000.bin, ...", output_group);
  visit("--shard-tokens", o.shard_tokens, "Tokens per shard of llmc", output_group);
  visit("--overwrite", o.overwrite, "Replace files that are already there", output_group);
}

template <class Visit>
void for_each_option(VerifyOptions& o, Visit&& visit) {
  visit("DIR", o.folder, "A folder with a set", input_group);
}

/// Options without which a command makes no sense.
bool is_required(const std::string& command, const std::string& name) {
  return name[0] != '-' || (name == "--output" && command != "decode") ||
         (command == "encode" && (name == "--vocab" || name == "--merges")) ||
         (command == "train-bpe" && name == "--vocab-size") || name == "--from" || name == "--to";
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
  SHARDGPT_REQUIRE(format == "auto" || format == "text" || format == "jsonl" || format == "parquet",
                   "--format is '" + format + "', wanted auto, text, jsonl or parquet");
}

InputFormat format_option(const std::string& name) {
  return name == "text"      ? InputFormat::text
         : name == "jsonl"   ? InputFormat::jsonl
         : name == "parquet" ? InputFormat::parquet
                             : InputFormat::automatic;
}

void require_shard_tokens(std::int64_t tokens) {
  SHARDGPT_REQUIRE(tokens >= 1 && tokens <= max_shard_tokens,
                   fmt::format("--shard-tokens is {}, wanted 1 to {}", tokens, max_shard_tokens));
}

void require_progress(const std::string& progress) {
  SHARDGPT_REQUIRE(progress == "auto" || progress == "always" || progress == "never",
                   "--progress is '" + progress + "', wanted auto, always or never");
}

void require_interchange_format(const char* option, const std::string& name) {
  SHARDGPT_REQUIRE(name == "llmc" || name == "nanogpt" || name == "megatron",
                   std::string(option) + " is '" + name + "', wanted llmc, nanogpt or megatron");
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
  SHARDGPT_REQUIRE(document == "file" || document == "line" || document == "heading" ||
                       document == "separator" || document == "none",
                   "--document is '" + document + "', wanted file, line, heading, separator or none");
  SHARDGPT_REQUIRE((document == "separator") == !separator.empty(),
                   "--document separator and --separator need each other");
  SHARDGPT_REQUIRE(detokenize == "none" || detokenize == "wikitext",
                   "--detokenize is '" + detokenize + "', wanted none or wikitext");
  require_progress(progress);
  SHARDGPT_REQUIRE(block_bytes >= 1 && block_bytes <= (std::int64_t{1} << 30),
                   fmt::format("--block-bytes is {}, wanted 1 to 2^30", block_bytes));
  SHARDGPT_REQUIRE(val_fraction >= 0 && val_fraction < 1,
                   fmt::format("--val-fraction is {}, wanted 0 to below 1", val_fraction));
  require_shard_tokens(shard_tokens);
}

void TrainBpeOptions::validate() const {
  require_format(format);
  require_threads(threads);
  require_end_of_text(end_of_text);
  SHARDGPT_REQUIRE(
      vocab_size >= 257 && vocab_size <= 10'000'000,
      fmt::format("--vocab-size is {}, wanted 257 (256 bytes and the end-of-text token) to 10000000",
                  vocab_size));
  require_progress(progress);
  SHARDGPT_REQUIRE(min_count >= 1, fmt::format("--min-count is {}, wanted 1 or more", min_count));
}

void InspectOptions::validate() const {
  SHARDGPT_REQUIRE(top >= 0, fmt::format("--top is {}, wanted 0 or more", top));
}

void ImportOptions::validate() const {
  require_interchange_format("--from", from);
  require_progress(progress);
  require_shard_tokens(shard_tokens);
  SHARDGPT_REQUIRE(vocab_size >= 0 && vocab_size <= max_shard_tokens,
                   fmt::format("--vocab-size is {}, wanted 1 to {}", vocab_size, max_shard_tokens));
}

void ExportOptions::validate() const {
  require_interchange_format("--to", to);
  require_shard_tokens(shard_tokens);
  SHARDGPT_REQUIRE(!name.empty() && name.find('/') == std::string::npos,
                   "--name is '" + name + "', wanted a plain file name");
}

Detokenize detokenize_option(const std::string& name) {
  return name == "wikitext" ? Detokenize::wikitext : Detokenize::none;
}

ShowProgress progress_option(const std::string& name) {
  return name == "always"  ? ShowProgress::always
         : name == "never" ? ShowProgress::never
                           : ShowProgress::automatic;
}

std::string unescaped(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    constexpr std::string_view names = "nrt\\";
    constexpr std::string_view values = "\n\r\t\\";
    const std::size_t escape =
        text[i] == '\\' && i + 1 < text.size() ? names.find(text[i + 1]) : std::string_view::npos;
    result += escape == std::string_view::npos ? text[i] : values[escape];
    i += escape == std::string_view::npos ? 0 : 1;
  }
  return result;
}

ReaderOptions reader_options(const EncodeOptions& options) {
  ReaderOptions result;
  result.format = format_option(options.format);
  result.document = options.document == "line"        ? DocumentPolicy::line
                    : options.document == "heading"   ? DocumentPolicy::heading
                    : options.document == "separator" ? DocumentPolicy::separator
                                                      : DocumentPolicy::file;
  result.separator = unescaped(options.separator);
  result.text_column = options.text_column;
  result.detokenize = detokenize_option(options.detokenize);
  result.block_bytes = static_cast<std::size_t>(options.block_bytes);
  return result;
}

ReaderOptions reader_options(const TrainBpeOptions& options) {
  ReaderOptions result;
  result.format = format_option(options.format);
  result.text_column = options.text_column;
  return result;
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
  ImportOptions import_options;
  ExportOptions export_options;
  const CLI::App* const encode_command =
      add_command(app, "encode", "Turns text into a set of token shards", encode);
  const CLI::App* const train_command =
      add_command(app, "train-bpe", "Makes a GPT-2 style tokenizer from text", train_bpe);
  const CLI::App* const decode_command =
      add_command(app, "decode", "Turns shards back into the exact text", decode);
  const CLI::App* const inspect_command =
      add_command(app, "inspect", "Shows what a set or shard holds", inspect);
  const CLI::App* const verify_command =
      add_command(app, "verify", "Compares a set with its dataset.json: sizes, hashes, ids", verify);
  const CLI::App* const import_command = add_command(
      app, "import", "Turns token files of llm.c, nanoGPT or Megatron-LM into a set", import_options);
  add_command(app, "export", "Writes a set as llm.c, nanoGPT or Megatron-LM read it", export_options);
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
  if (encode_command->parsed()) {
    encode.validate();
    return {{}, encode};
  }
  if (train_command->parsed()) {
    train_bpe.validate();
    return {{}, train_bpe};
  }
  if (decode_command->parsed()) {
    return {{}, decode};
  }
  if (inspect_command->parsed()) {
    inspect.validate();
    return {{}, inspect};
  }
  if (verify_command->parsed()) {
    return {{}, verify};
  }
  if (import_command->parsed()) {
    import_options.validate();
    return {{}, import_options};
  }
  export_options.validate();
  return {{}, export_options};
}

}  // namespace shardgpt
