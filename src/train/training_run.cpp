#include "train/training_run.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>

#include <fmt/format.h>

#include "checkpoint/checkpoint_worker.hpp"
#include "checkpoint/run_folder.hpp"
#include "core/log.hpp"
#include "core/this_process.hpp"
#include "train/devices.hpp"
#include "train/node_memory.hpp"
#include "train/placement.hpp"
#include "train/plan.hpp"
#include "train/provenance.hpp"
#include "train/run_data.hpp"
#include "train/run_directory.hpp"
#include "train/run_state.hpp"
#include "train/startup.hpp"
#include "train/train_options.hpp"
#include "train/training_loop.hpp"
#include "train/version.hpp"

namespace shardgpt {
namespace {

/// What all ranks can judge from options, model and data, before anything is written.
void require_run_fits(const TrainConfig& config, const ModelConfig& model, std::int64_t total_steps) {
  SHARDGPT_REQUIRE(
      config.data.seq_len <= model.positions,
      fmt::format("--seq-len is {}, the model has {} positions", config.data.seq_len, model.positions));
  const std::int64_t most_slots = std::max<std::int64_t>(2, model.layers);
  SHARDGPT_REQUIRE(config.device.unshard_slots <= most_slots,
                   fmt::format("--unshard-slots is {}, wanted 2 to {} (the blocks of the model)",
                               config.device.unshard_slots, most_slots));
  schedule_from_options(config.optimizer, total_steps).validate();
}

/// Collective.
SaveMode choose_save_mode(const TrainConfig& config, const MpiSession& session) {
  const bool multiple = session.world().all(session.thread_multiple());
  if (config.run.save == "async" && !multiple && session.world().rank() == 0) {
    log_warning(
        "this MPI lets only one thread in at a time (no MPI_THREAD_MULTIPLE): training waits while a "
        "checkpoint is saved, as with --save sync");
  }
  return saves_beside_training(config.run, multiple) ? SaveMode::beside_training : SaveMode::waiting;
}

void warn_of_dropout(const DropoutRates& rates) {
  if (rates.any()) {
    log_warning(
        fmt::format("the model's configuration has dropout (resid_pdrop {}, embd_pdrop {}, attn_pdrop {}): "
                    "training applies none; exports keep the values",
                    rates.residual, rates.embedding, rates.attention));
  }
}

/// The plan for `ranks` ranks that compute as this one does. Collective.
TrainingPlan plan_run(const TrainConfig& config, const MpiComm& comm, const DeviceChoice& device,
                      const TensorTable& table, int ranks, std::optional<std::int64_t> windows_per_epoch,
                      SaveMode save_mode) {
  const OpsLimits limits = ops_limits(config, table.config(), choose_micro_batch(config.data, ranks));
  const int threads = choose_threads(comm, config.device);
  std::size_t workspace = 0;
  run_phase(comm, [&] { workspace = ops_workspace_bytes(device, config.device, threads, limits); });
  return make_plan(config, table, ranks,
                   {.dtype = dtype_from_options(config.device),
                    .workspace_bytes = workspace,
                    .windows_per_epoch = windows_per_epoch,
                    .saves_beside_training = save_mode == SaveMode::beside_training});
}

ModelOrigin find_model(CheckpointWorker& worker, const TrainConfig& config) {
  return worker.run([&](const MpiComm& comm) { return find_model(comm, config); });
}

/// Throws InputError on all ranks where a node or a device has less memory than the run needs: better than
/// somewhere in the first step. Collective.
void require_memory(const MpiComm& comm, const DeviceChoice& device, const TrainingPlan& plan) {
  if (device.kind == DeviceKind::cpu) {
    require_host_memory(comm, plan.memory_per_rank(), node_memory_bytes());
    return;
  }
  require_host_memory(comm, plan.memory_per_rank() - plan.device_bytes(), node_memory_bytes());
  run_phase(comm, [&] {
    const std::size_t free = free_device_memory(device);
    SHARDGPT_REQUIRE(plan.device_bytes() <= free,
                     fmt::format("rank {} on {} needs {} of {}, which has {} free: use more ranks, a smaller "
                                 "--micro-batch or --seq-len, or --recompute block",
                                 comm.rank(), host_name(), format_bytes(plan.device_bytes()),
                                 device.description, format_bytes(free)));
  });
}

ExitCode dry_run(const TrainConfig& config, const MpiSession& session, CheckpointWorker& worker,
                 const DeviceChoice& device) {
  const MpiComm& comm = session.world();
  TrainConfig without_data = config;
  without_data.data.data.clear();
  // Where the data set cannot be read the plan is printed all the same, and then the reason.
  std::optional<InputError> data_error;
  std::optional<ModelOrigin> origin;
  std::optional<std::int64_t> windows;
  std::int64_t steps = std::max<std::int64_t>(1, config.data.steps);
  try {
    origin = find_model(worker, config);
    if (!config.data.data.empty()) {
      const RunData data = open_run_data(comm, config, origin->model);
      windows = data.sampler->windows_per_epoch();
      steps = data.total_steps;
    }
  } catch (const InputError& error) {
    data_error = error;
    origin = find_model(worker, without_data);
  }
  require_run_fits(config, origin->model, steps);
  const TensorTable table(origin->model);
  const int ranks = config.run.plan_ranks > 0 ? static_cast<int>(config.run.plan_ranks) : comm.size();
  const TrainingPlan plan =
      plan_run(config, comm, device, table, ranks, windows, choose_save_mode(config, session));
  if (comm.rank() == 0) {
    std::cout << describe_plan(plan, config, table)
              << fmt::format("  {:<22}{:>12}\n", "this node has", format_bytes(node_memory_bytes()))
              << std::flush;
  }
  if (data_error) {
    throw InputError(*data_error);
  }
  return exit_done;
}

/// Says where each rank runs, and what is wrong there. Collective.
void report_places(const MpiComm& comm, const DeviceOptions& options, const DeviceChoice& device) {
  const std::vector<RankPlace> places = gather_places(comm, own_place(choose_threads(comm, options)));
  if (comm.rank() != 0) {
    return;
  }
  log_info(describe_places(places, device.description));
  for (const std::string& warning : placement_warnings(places)) {
    log_warning(warning);
  }
}

void prepare_directory(const MpiComm& comm, const TrainConfig& config, const RunDirectory& directory) {
  run_phase(comm, [&] {
    if (comm.rank() != 0) {
      return;
    }
    if (config.run.resume == "never" && directory.holds_run()) {
      SHARDGPT_REQUIRE(config.run.discard_run,
                       "--resume never, and " + directory.path().string() +
                           " holds an earlier run: add --discard-run to delete it, or use another --run-dir");
      directory.discard();
    }
    remove_stale_temporaries(directory.path());
    nlohmann::json manifest = provenance(config, comm);
    manifest["options"] = options_to_json(config);
    directory.write_manifest(manifest.dump(1) + "\n");
  });
}

}  // namespace

ExitCode run_training(const TrainConfig& config, const MpiSession& session) {
  const MpiComm& comm = session.world();
  require_same_options(comm, config);
  const DeviceChoice device = choose_device(comm, config.device);
  CheckpointWorker worker(comm, std::chrono::seconds(config.run.save_timeout));
  if (config.run.dry_run) {
    return dry_run(config, session, worker, device);
  }
  // Read-only checks first: a run that is refused leaves no trace.
  ModelOrigin origin = find_model(worker, config);
  const TensorTable table(origin.model);
  RunData data = open_run_data(comm, config, origin.model);
  require_run_fits(config, origin.model, data.total_steps);
  if (origin.resume) {
    require_same_data(RunState::from_json(origin.resume->state, origin.resume->path.string()).data,
                      data_identity(data, config.data));
  }
  if (origin.init) {
    require_tokenizer_of_weights(data, *origin.init);
  }
  const std::int64_t windows = data.sampler->windows_per_epoch();
  const SaveMode save_mode = choose_save_mode(config, session);
  const TrainingPlan plan = plan_run(config, comm, device, table, comm.size(), windows, save_mode);
  require_memory(comm, device, plan);

  RunDirectory directory(comm, config.run.run_dir);
  prepare_directory(comm, config, directory);
  if (comm.rank() == 0) {
    log_info(version_text());
    log_info(describe_plan(plan, config, table));
    warn_of_dropout(origin.model.dropout);
  }
  report_places(comm, config.device, device);
  const auto note_failure = [&](const std::exception& error) {
    try {
      directory.write_status(std::string("failed(") + error.what() + ")");
    } catch (const std::exception& also) {
      log_warning(also.what());  // the first error is the one to report
    }
  };
  try {
    TrainingLoop loop(config, session, worker, device, table, std::move(data), directory, save_mode);
    const bool chosen = config.run.resume != "auto";
    if (!origin.resume || !loop.resume(chosen ? std::optional(origin.resume->path) : std::nullopt)) {
      loop.start_fresh(origin);
    }
    try {
      return loop.run();
    } catch (const AgreedError&) {
      throw;
    } catch (const std::exception& error) {
      // Perhaps this rank alone has failed, while its streams and its peers wait for one another: unwinding
      // would join threads that never end, so the job ends here.
      const Error located(fmt::format("rank {} on {} behind step {}: {}", comm.rank(), host_name(),
                                      loop.steps_done(), error.what()));
      log_error(located.what());
      note_failure(located);
      MpiSession::abort(exit_error);
    }
  } catch (const std::exception& error) {
    if (comm.rank() == 0) {
      note_failure(error);
    }
    throw;
  }
}

}  // namespace shardgpt
