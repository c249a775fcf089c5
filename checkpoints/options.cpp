#include "checkpoints/options.hpp"

#include <map>
#include <type_traits>

#include <CLI/CLI.hpp>

#include "checkpoints/convert_command.hpp"
#include "core/error.hpp"

namespace shardgpt {
namespace {

/// All options of one run; each command reads its own.
struct AllOptions {
  ExportOptions to_hf;
  ImportHfOptions from_hf;
  ExportLlmcOptions to_llmc;
  ImportOptions from_llmc;
  MergeOptions merge;
  InspectOptions inspect;
  VerifyOptions verify;
};

const std::map<std::string, WeightType> dtype_names = {
    {"f32", WeightType::f32}, {"bf16", WeightType::bf16}, {"f16", WeightType::f16}};

constexpr const char* checkpoint_help = "checkpoint file, or run folder (its newest checkpoint)";
constexpr const char* model_help = "checkpoint, run folder, Hugging Face folder or model file of llm.c";
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
void for_each_option(ImportHfOptions& o, Visit&& visit) {
  visit(Form::positional, "DIR", o.source, "Hugging Face GPT-2 folder");
  visit(Form::required, "--output", o.output, "checkpoint file to write");
  visit(Form::flag, "--cut-vocab", o.cut_vocab, "drop embedding rows above config.json's vocab_size");
  visit(Form::flag, "--overwrite", o.overwrite, overwrite_help);
}
template <class Visit>
void for_each_option(ExportLlmcOptions& o, Visit&& visit) {
  visit(Form::positional, "CKPT", o.checkpoint, checkpoint_help);
  visit(Form::required, "--output", o.output, "model file of llm.c to write");
  visit(Form::dtype, "--dtype", o.dtype, "element type of the weights, f32 or bf16");
  visit(Form::flag, "--overwrite", o.overwrite, overwrite_help);
}
template <class Visit>
void for_each_option(ImportOptions& o, Visit&& visit) {
  visit(Form::positional, "FILE", o.source, "model file of llm.c, version 3 (float32) or 5 (bfloat16)");
  visit(Form::required, "--output", o.output, "checkpoint file to write");
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
void for_each_option(InspectOptions& o, Visit&& visit) {
  visit(Form::positional, "MODEL", o.model, model_help);
  visit(Form::flag, "--quick", o.quick, "read no values: names, types and shapes only");
  visit(Form::flag, "--json", o.json, "print JSON, for scripts");
}
template <class Visit>
void for_each_option(VerifyOptions& o, Visit&& visit) {
  visit(Form::positional, "CKPT", o.checkpoint, checkpoint_help);
  visit(Form::optional, "--against", o.against,
        "compare the logits with those of this model too: checkpoint, Hugging Face folder or llm.c's file");
  visit(Form::optional, "--tokens", o.tokens, "tokens of the sequence whose logits are compared");
  visit(Form::optional, "--limit", o.limit, "largest difference of two logits that is accepted");
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
  template <class Number>
  requires std::is_same_v<Number, std::int64_t> || std::is_same_v<Number, double>
  void operator()(Form /*form*/, const char* name, Number& value, const char* help) const {
    command.add_option(name, value, help)->capture_default_str();
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

ConvertRequest parse_convert_options(int argc, const char* const* argv) {
  AllOptions options;
  ConvertRequest request;
  CLI::App app("Converts and checks shardgpt checkpoints", "shardgpt-convert");
  app.set_version_flag("--version", std::string("shardgpt-convert ") + SHARDGPT_VERSION);
  app.require_subcommand(1);
  add_command(app, "to-hf", "write a Hugging Face GPT-2 folder", options.to_hf, export_to_hf, request);
  add_command(app, "from-hf", "make a checkpoint of a Hugging Face GPT-2 folder", options.from_hf,
              import_from_hf, request);
  add_command(app, "to-llmc", "write a model file of llm.c", options.to_llmc, export_to_llmc, request);
  add_command(app, "from-llmc", "make a checkpoint of a model file of llm.c", options.from_llmc,
              import_from_llmc, request);
  add_command(app, "merge", "write the full state as one file", options.merge, merge_checkpoint, request);
  add_command(app, "inspect", "print what a model holds, with statistics of its values", options.inspect,
              inspect_model, request);
  add_command(app, "verify", "compare every checksum, and with --against the logits of two models",
              options.verify, verify_checkpoint, request);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return {nullptr, app.help()};
  } catch (const CLI::CallForVersion& version) {
    return {nullptr, version.what() + std::string("\n")};
  } catch (const CLI::ParseError& error) {
    throw InputError(std::string(error.what()) + " (shardgpt-convert --help shows the usage)");
  }
  return request;
}

}  // namespace shardgpt
