#include "checkpoints/options.hpp"

#include <map>

#include <CLI/CLI.hpp>

#include "checkpoints/convert_command.hpp"
#include "core/error.hpp"

namespace shardgpt {
namespace {

/// All options of one run; each command reads its own.
struct AllOptions {
  ExportOptions to_hf;
  ImportOptions from_hf;
  MergeOptions merge;
  CheckOptions inspect;
  CheckOptions verify;
};

const std::map<std::string, WeightType> dtype_names = {
    {"f32", WeightType::f32}, {"bf16", WeightType::bf16}, {"f16", WeightType::f16}};

constexpr const char* checkpoint_help = "checkpoint file, or run folder (its newest checkpoint)";
constexpr const char* overwrite_help = "replace an output that exists";

/// How an option appears on the command line.
enum class Form { positional, required, optional, flag, dtype, size };

// One table per command: for_each_option(options, visit) calls visit(form, name, value, help).
template <class Visit>
void for_each_option(ExportOptions& o, Visit&& visit) {
  visit(Form::positional, "CKPT", o.checkpoint, checkpoint_help);
  visit(Form::required, "--output", o.output, "Hugging Face folder to write");
  visit(Form::dtype, "--dtype", o.dtype, "element type of the weights");
  visit(Form::optional, "--tokenizer", o.tokenizer, "folder with vocab.json and merges.txt to copy");
  visit(Form::size, "--max-part-size", o.max_part_bytes,
        "largest weight file in bytes (5GB); more are split");
  visit(Form::flag, "--overwrite", o.overwrite, overwrite_help);
}
template <class Visit>
void for_each_option(ImportOptions& o, Visit&& visit) {
  visit(Form::positional, "DIR", o.source, "Hugging Face GPT-2 folder");
  visit(Form::required, "--output", o.output, "checkpoint file to write");
  visit(Form::flag, "--cut-vocab", o.cut_vocab, "drop embedding rows above config.json's vocab_size");
  visit(Form::flag, "--overwrite", o.overwrite, overwrite_help);
}
template <class Visit>
void for_each_option(MergeOptions& o, Visit&& visit) {
  visit(Form::positional, "CKPT", o.checkpoint, checkpoint_help);
  visit(Form::required, "--output", o.output, "FILE.safetensors or FILE.h5 to write");
  visit(Form::flag, "--optimizer", o.optimizer, "write Adam's moments too");
  visit(Form::flag, "--overwrite", o.overwrite, overwrite_help);
}
template <class Visit>
void for_each_option(CheckOptions& o, Visit&& visit) {
  visit(Form::positional, "CKPT", o.checkpoint, checkpoint_help);
}

/// Adds one row of a table to a command of CLI11.
struct Binder {
  CLI::App& command;

  void operator()(Form form, const char* name, std::filesystem::path& value, const char* help) const {
    CLI::Option* option = command.add_option(name, value, help);
    if (form == Form::positional || form == Form::required) {
      option->required();
    }
  }
  void operator()(Form /*form*/, const char* name, bool& value, const char* help) const {
    command.add_flag(name, value, help);
  }
  void operator()(Form /*form*/, const char* name, WeightType& value, const char* help) const {
    command.add_option(name, value, help)
        ->transform(CLI::CheckedTransformer(dtype_names).description("{f32,bf16,f16}"))
        ->default_str("f32");
  }
  void operator()(Form /*form*/, const char* name, std::uint64_t& value, const char* help) const {
    command.add_option(name, value, help)->transform(CLI::AsSizeValue(/*kb_is_1000=*/true));
  }
};

template <class Options>
void add_command(CLI::App& app, const char* name, const char* help, Options& options,
                 void (*run)(const Options&, std::ostream&), ConvertRequest& request) {
  CLI::App* command = app.add_subcommand(name, help);
  for_each_option(options, Binder{*command});
  command->callback([&request, options = &options, run] {
    request.command = [chosen = *options, run](std::ostream& out) { run(chosen, out); };
  });
}

}  // namespace

ConvertRequest parse_convert_options(int argc, const char* const* argv, std::ostream& out,
                                     std::ostream& error) {
  AllOptions options;
  ConvertRequest request;
  CLI::App app("Converts and checks shardgpt checkpoints", "shardgpt-convert");
  app.require_subcommand(1);
  add_command(app, "to-hf", "write a Hugging Face GPT-2 folder", options.to_hf, export_to_hf, request);
  add_command(app, "from-hf", "make a checkpoint of a Hugging Face GPT-2 folder", options.from_hf,
              import_from_hf, request);
  add_command(app, "merge", "write the full state as one file", options.merge, merge_checkpoint, request);
  add_command(app, "inspect", "print what a checkpoint holds", options.inspect, inspect_checkpoint, request);
  add_command(app, "verify", "compare every checksum", options.verify, verify_checkpoint, request);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& usage) {
    request.command = nullptr;
    request.exit_code = app.exit(usage, out, error) == 0 ? exit_done : exit_bad_input;
  }
  return request;
}

}  // namespace shardgpt
