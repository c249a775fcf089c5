#include <chrono>
#include <exception>
#include <iostream>

#include "core/log.hpp"
#include "dist/mpi/mpi_session.hpp"
#include "tokens/lost_pages.hpp"
#include "train/launch_check.hpp"
#include "train/start_watch.hpp"
#include "train/stop_signal.hpp"
#include "train/train_options.hpp"
#include "train/training_run.hpp"

namespace {

using namespace shardgpt;

/// InputError and AgreedError are thrown by all ranks together: one says it, and all leave.
int run(const TrainConfig& config, const MpiSession& session) {
  const bool speaks = session.world().rank() == 0;
  try {
    return run_training(config, session);
  } catch (const InputError& error) {
    if (speaks) {
      log_error(error.what());
    }
    return exit_bad_input;
  } catch (const AgreedError& error) {
    if (speaks) {
      log_error(error.what());
    }
    return exit_error;
  } catch (const std::exception& error) {
    log_error(error.what());
    MpiSession::abort(exit_error);  // peers may sit in a collective; returning would hang them
  }
}

/// Throws InputError on all ranks.
void check_launch(const MpiComm& comm, const LaunchClaims& claims, bool allow_one_rank) {
  const LaunchVerdict verdict = judge_launch(comm.size(), claims, allow_one_rank);
  run_phase(comm, [&] { SHARDGPT_REQUIRE(verdict.refusal.empty(), verdict.refusal); });
  if (comm.rank() == 0 && !verdict.warning.empty()) {
    log_warning(verdict.warning);
  }
}

}  // namespace

int main(int argc, char** argv) {
  catch_stop_signals();  // first: until here such a signal kills
  set_log_prefix("shardgpt-train");
  const ParseResult parsed = parse_train_options(argc, argv);  // no MPI yet: --help needs no launcher
  if (!parsed.text.empty()) {
    std::cout << parsed.text;
    return exit_done;
  }
  const LaunchClaims claims = read_launch_claims();
  try {
    StartWatch start(std::chrono::seconds(parsed.config.device.peer_timeout));
    const MpiSession session(argc, argv);
    start.started();
    const std::string prefix = "shardgpt-train rank " + std::to_string(session.world().rank());
    set_log_prefix(prefix);
    explain_lost_pages(prefix);
    try {
      run_phase(session.world(), [&] { SHARDGPT_REQUIRE(parsed.error.empty(), parsed.error); });
      check_launch(session.world(), claims, parsed.config.run.allow_one_rank);
    } catch (const InputError& error) {
      if (session.world().rank() == 0) {
        log_error(error.what());
      }
      return exit_bad_input;
    }
    const int code = run(parsed.config, session);
    session.world().barrier();  // a rank that leaves early may take the others with it
    return code;
  } catch (const std::exception& error) {
    log_error(error.what());
    return exit_error;
  }
}
