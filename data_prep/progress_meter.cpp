#include "data_prep/progress_meter.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "core/log.hpp"

namespace shardgpt {
namespace {

using namespace std::chrono_literals;

constexpr double shortest_seconds = 1e-9;

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::min(seconds, 3.6e6) + 0.5);
  return whole >= 3600 ? fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
                       : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

bool error_is_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

std::function<void(std::string_view)> error_writer(ShowProgress show) {
  if (show == ShowProgress::never || (show == ShowProgress::automatic && !error_is_terminal())) {
    return {};
  }
  if (error_is_terminal()) {
    return [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); };
  }
  return [](std::string_view text) { log_info(text); };
}

}  // namespace

ProgressMeter::ProgressMeter(ShowProgress show)
    : ProgressMeter(error_is_terminal(), error_writer(show), [] { return Clock::now(); }) {}

ProgressMeter::ProgressMeter(bool in_place, std::function<void(std::string_view)> write,
                             std::function<Clock::time_point()> now)
    : in_place_(in_place), write_(std::move(write)), now_(std::move(now)), start_(now_()), last_(start_) {}

ProgressMeter::~ProgressMeter() {
  if (shown_ != 0) {
    write_(fmt::format("\r{:{}}\r", "", shown_));
  }
}

double ProgressMeter::seconds() const {
  return std::max(shortest_seconds, std::chrono::duration<double>(now_() - start_).count());
}

void ProgressMeter::add(std::int64_t bytes, std::int64_t tokens, std::optional<double> fraction) {
  bytes_ += bytes;
  tokens_ += tokens;
  fraction_ = fraction;
  if (!write_) {
    return;
  }
  if (const auto now = now_(); now - last_ >= (in_place_ ? Clock::duration(200ms) : Clock::duration(10s))) {
    last_ = now;
    show();
  }
}

void ProgressMeter::finish() {
  if (write_ && !in_place_) {
    fraction_ = 1.0;
    show();
  }
}

void ProgressMeter::show() {
  const std::string text = line();
  if (!in_place_) {
    write_(text);
    return;
  }
  write_(fmt::format("\r{:{}}", text, shown_));  // over what stood there
  shown_ = text.size();
}

std::string ProgressMeter::line() const {
  std::string text = fmt::format("{:.1f} MB, {:.1f} MB/s", megabytes(), megabytes() / seconds());
  if (tokens_ > 0) {
    text += fmt::format(", {:.2f} M tokens", static_cast<double>(tokens_) * 1e-6);
  }
  if (fraction_) {
    text += fmt::format(", {:.0f} %", *fraction_ * 100);
    if (*fraction_ > 0) {
      text += ", ETA " + clock_text(seconds() * (1 / std::min(1.0, *fraction_) - 1));
    }
  }
  return text;
}

}  // namespace shardgpt
