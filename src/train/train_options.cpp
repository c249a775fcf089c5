#include "train/train_options.hpp"

#include <memory>

#include <CLI/CLI.hpp>

#include "core/error.hpp"
#include "train/train_options_file.hpp"
#include "train/version.hpp"

namespace shardgpt {
namespace {

using Choices = std::vector<std::string>;

/// The one list of options: calls visit(group, flag, value, help[, choices]) for each.
template <class Config, class Visitor>
void for_each_option(Config& config, Visitor&& visit) {
  auto& model = config.model;
  auto& data = config.data;
  auto& optimizer = config.optimizer;
  auto& device = config.device;
  auto& run = config.run;
  auto& checkpoint = config.checkpoint;

  const char* group = "Run";
  visit(group, "--run-dir", run.run_dir, "folder of checkpoints, metrics and status; one run each");
  visit(group, "--resume", run.resume,
        "auto: go on from the newest complete checkpoint of the run folder, if any; never: start; or a "
        "checkpoint file");
  visit(group, "--discard-run", run.discard_run,
        "with --resume never: delete what an earlier run left in the folder");
  visit(group, "--checkpoint-every", run.checkpoint_every,
        "steps between checkpoints; 0: at the end and on a stop");
  visit(group, "--checkpoint-minutes", run.checkpoint_minutes,
        "also a checkpoint this long after the last one; 0: not by the clock");
  visit(group, "--save", run.save, "async: training goes on while a checkpoint is written; sync: it waits",
        Choices{"async", "sync"});
  visit(group, "--save-timeout", run.save_timeout,
        "seconds without progress after which a save or load ends the job");
  visit(group, "--keep", run.keep, "newest checkpoints that are kept; 0: all");
  visit(group, "--keep-every", run.keep_every,
        "checkpoints whose step is a multiple of this are kept for good; 0: none");
  visit(group, "--mtbf-hours", run.mtbf_hours,
        "mean time between failures of the job, for the interval that the log suggests");
  visit(group, "--val-every", run.val_every, "steps between validations; 0: at the end");
  visit(group, "--val-windows", run.val_windows, "windows of the validation set that are read; 0: all");
  visit(group, "--log-every", run.log_every, "steps between lines of progress");
  visit(group, "--max-seconds", run.max_seconds,
        "save and stop with exit code 75 so that all is done within this time; 0: no limit");
  visit(group, "--end-margin", run.end_margin,
        "save and stop so many seconds, and what saving takes, before the batch job ends as "
        "SLURM_JOB_END_TIME says, at most a quarter of what is left of the job at the start; "
        "-1: do not look");
  visit(group, "--max-steps-this-run", run.max_steps_this_run,
        "save and stop with exit code 75 after this many steps; 0: no limit");
  visit(group, "--peak-tflops", run.peak_tflops, "peak of one rank's device, for MFU; 0: unknown");
  visit(group, "--allow-one-rank", run.allow_one_rank,
        "run as one rank although the environment says that a launcher started several processes");
  visit(group, "--dry-run", run.dry_run, "print the plan and the memory table, do nothing");
  visit(group, "--plan-ranks", run.plan_ranks, "ranks that --dry-run plans for; 0: those it is started on");

  group = "Checkpoints";
  visit(group, "--checkpoint-files", checkpoint.files, "one file for all ranks, or one per node and an index",
        Choices{"shared", "node"});
  visit(group, "--checkpoint-ranks-per-file", checkpoint.ranks_per_file,
        "with --checkpoint-files node: most ranks that share a file; 0: all of a node");
  visit(group, "--checkpoint-io", checkpoint.io,
        "how ranks enter MPI-IO; auto: independent beside training, collective where it waits",
        Choices{"auto", "collective", "independent"});
  visit(group, "--checkpoint-hint", checkpoint.hints, "KEY=VALUE for MPI-IO; may be given several times");
  visit(group, "--checkpoint-alignment", checkpoint.alignment,
        "bytes; datasets of at least this size start at a multiple of it");
  visit(group, "--checkpoint-verify", checkpoint.verify, "read every checkpoint back and compare it",
        Choices{"on", "off"});

  group = "Data";
  visit(group, "--data", data.data, "training shards: a folder with dataset.json, a shard or a glob");
  visit(group, "--val-data", data.val_data, "validation shards");
  visit(group, "--seq-len", data.seq_len, "T, tokens per sequence");
  visit(group, "--global-batch", data.global_batch, "B, sequences per optimizer step over all ranks");
  visit(group, "--micro-batch", data.micro_batch, "sequences per rank at a time; 0: at most 4");
  visit(group, "--steps", data.steps, "optimizer steps of the whole run");
  visit(group, "--epochs", data.epochs, "instead of --steps: passes over the data");
  visit(group, "--order", data.order, "order of the windows", Choices{"shuffled", "sequential"});
  visit(group, "--seed", data.seed, "of initial weights and data order");

  group = "Model";
  visit(group, "--model", model.preset, "gpt2, gpt2-medium, gpt2-large or gpt2-xl");
  visit(group, "--layers", model.layers, "blocks");
  visit(group, "--heads", model.heads, "attention heads per block");
  visit(group, "--embd", model.embd, "embedding width");
  visit(group, "--vocab", model.vocab, "vocabulary size; default: the preset's, or the data set's");
  visit(group, "--positions", model.positions, "rows of the position table; default 1024");
  visit(group, "--init-from", model.init_from,
        "checkpoint, run folder or Hugging Face folder whose weights training starts from");

  group = "Optimizer";
  visit(group, "--lr", optimizer.lr, "peak learning rate of AdamW");
  visit(group, "--min-lr", optimizer.min_lr, "learning rate at the end");
  visit(group, "--warmup-steps", optimizer.warmup_steps, "steps of linear warm-up");
  visit(group, "--schedule", optimizer.schedule, "learning rate after the warm-up",
        Choices{"cosine", "linear", "constant", "wsd"});
  visit(group, "--decay-steps", optimizer.decay_steps, "wsd: steps of the final decay");
  visit(group, "--beta1", optimizer.adamw.beta1, "decay of the first moment");
  visit(group, "--beta2", optimizer.adamw.beta2, "decay of the second moment");
  visit(group, "--eps", optimizer.adamw.eps, "added to the root of the second moment");
  visit(group, "--weight-decay", optimizer.adamw.weight_decay, "of tensors of two or more dimensions");
  visit(group, "--decay-all", optimizer.decay_all, "decay biases and norms too");
  visit(group, "--clip", optimizer.clip, "largest norm of the gradient; 0: no clipping");
  visit(group, "--on-nonfinite", optimizer.on_nonfinite, "a step whose loss or gradient is not finite",
        Choices{"skip", "abort"});
  visit(group, "--max-skipped", optimizer.max_skipped,
        "steps in a row that may be skipped as not finite before the run ends as failed; 0: no limit");

  group = "Device";
  visit(group, "--device", device.device, "where to compute", Choices{"auto", "cpu", "cuda"});
  visit(group, "--precision", device.precision,
        "of gathered weights and activations; master weights are FP32", Choices{"bf16", "fp32"});
  visit(group, "--kernels", device.kernels,
        "implementation of the operations; reference: plain loops, to check",
        Choices{"auto", "cpu", "reference"});
  visit(group, "--threads", device.threads,
        "compute threads per rank; 0: this rank's share of the node's cores");
  visit(group, "--unshard-slots", device.unshard_slots, "blocks gathered at once");
  visit(group, "--recompute", device.recompute,
        "what backward computes again instead of keeping it: nothing; each block's MLP; all but its input",
        Choices{"none", "mlp", "block"});
  visit(group, "--cpu-offload", device.cpu_offload, "cuda: keep master weights and moments in host memory");
  visit(group, "--peer-timeout", device.peer_timeout, "seconds after which a silent peer ends the job");
}

/// Adds every option of the table to a CLI11 program. The last of several wins, so that scripts can be
/// overridden; lists collect them.
struct CliBinder {
  CLI::App& app;

  template <class Value>
  void operator()(const char* group, const char* flag, Value& value, const char* help) const {
    app.add_option(flag, value, help)->group(group)->capture_default_str()->take_last();
  }
  void operator()(const char* group, const char* flag, bool& value, const char* help) const {
    app.add_flag(flag, value, help)->group(group);
  }
  void operator()(const char* group, const char* flag, std::vector<std::string>& values,
                  const char* help) const {
    app.add_option(flag, values, help)->group(group)->allow_extra_args(false);
  }
  void operator()(const char* group, const char* flag, std::string& value, const char* help,
                  const Choices& choices) const {
    app.add_option(flag, value, help)
        ->group(group)
        ->capture_default_str()
        ->take_last()
        ->check(CLI::IsMember(choices));
  }
};

std::string with_hint(const std::string& message) {
  return message + " (shardgpt-train --help lists the options)";
}

}  // namespace

ParseResult parse_train_options(int argc, const char* const* argv) {
  ParseResult result;
  for (int i = 0; i < argc; ++i) {
    result.config.command_line += std::string(i == 0 ? "" : " ") + argv[i];
  }
  CLI::App app("Trains GPT-2, fully sharded over the ranks of an MPI job.", "shardgpt-train");
  for_each_option(result.config, CliBinder{app});
  app.set_config("--config", "",
                 "TOML file with options by their names without dashes; the command line wins");
  const auto config_file = std::make_shared<TrainOptionsFile>(app);
  app.config_formatter(config_file);
  app.set_version_flag("--version", version_text());
  app.footer(
      "Exit codes: 0 done; 1 error; 2 bad usage or input; 75 stopped after saving, run the same command "
      "again.");
  try {
    app.parse(argc, argv);
    result.config.validate();
  } catch (const CLI::CallForHelp&) {
    result.text = app.help();
  } catch (const CLI::CallForVersion&) {
    result.text = version_text() + "\n";
  } catch (const CLI::ParseError& error) {
    result.error = with_hint(config_file->with_places(error.what()));
  } catch (const InputError& error) {
    result.error = config_file->with_places(error.what());
  }
  return result;
}

nlohmann::json options_to_json(const TrainConfig& config) {
  nlohmann::json json = nlohmann::json::object();
  for_each_option(config,
                  [&json](const char* /*group*/, const char* flag, const auto& value, const char* /*help*/,
                          const Choices& /*choices*/ = {}) { json[flag + 2] = value; });
  return json;
}

}  // namespace shardgpt
