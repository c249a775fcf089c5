#include "train/stop_requests.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/log.hpp"
#include "train/stop_signal.hpp"

namespace shardgpt {

std::optional<std::int64_t> batch_job_end() {
  const char* text = std::getenv("SLURM_JOB_END_TIME");
  if (text == nullptr) {
    return std::nullopt;
  }
  const std::string_view digits(text);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
  return error == std::errc() && end == digits.end() && value > 0 ? std::optional(value) : std::nullopt;
}

namespace {

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

StopRequests::StopRequests(const RunOptions& options, std::filesystem::path file, bool watches_file)
    : options_(options), file_(std::move(file)), watches_file_(watches_file) {
  if (job_end_) {
    constexpr double most = 0.25;  // of the time that is left: a short job gets somewhere, too
    end_margin_ = std::min(static_cast<double>(options_.end_margin),
                           most * std::max(0.0, static_cast<double>(*job_end_) - unix_time()));
  }
  std::error_code ignored;
  if (watches_file_ && std::filesystem::exists(file_, ignored)) {
    log_warning(file_.string() + " was there before the start: removed, it was meant for an earlier job");
    remove_file();
  }
}

bool StopRequests::any(double seconds_needed) {
  const char* why = reason(seconds_needed);
  if (why != nullptr && watches_file_ && !std::exchange(said_, true)) {
    log_info(std::string("saving and stopping: ") + why);
  }
  return why != nullptr;
}

const char* StopRequests::reason(double seconds_needed) {
  if (stop_signal_received()) {
    return "a signal has come";
  }
  const double elapsed = std::chrono::duration<double>(Clock::now() - begin_).count();
  if (options_.max_seconds > 0 && elapsed + seconds_needed >= static_cast<double>(options_.max_seconds)) {
    return "the time of --max-seconds is up, but for what saving takes";
  }
  if (job_end_ && options_.end_margin >= 0) {
    const double now = unix_time();
    if (now + 1.5 * seconds_needed + end_margin_ >= static_cast<double>(*job_end_)) {
      return "the job ends soon (SLURM_JOB_END_TIME)";
    }
  }
  return watches_file_ && file_exists() ? "the file 'stop' lies in the run folder" : nullptr;
}

bool StopRequests::file_exists() {
  const Clock::time_point now = Clock::now();
  if (!found_file_ && now >= next_look_) {
    next_look_ = now + std::chrono::seconds(1);
    std::error_code ignored;  // a file system that does not answer now is asked again
    found_file_ = std::filesystem::exists(file_, ignored);
  }
  return found_file_;
}

void StopRequests::remove_file() const {
  if (watches_file_) {
    std::error_code code;
    std::filesystem::remove(file_, code);
    if (code) {
      log_warning("cannot remove " + file_.string() + ": " + code.message());
    }
  }
}

}  // namespace shardgpt
