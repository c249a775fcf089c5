#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace shardgpt {

/// When to show progress; automatic: where standard error is a terminal.
enum class ShowProgress { automatic, always, never };

/// Shows how far a work on text is: one line on standard error, rewritten in place on a terminal, elsewhere a
/// line every ten seconds and one at the end.
class ProgressMeter {
 public:
  using Clock = std::chrono::steady_clock;

  /// To standard error.
  explicit ProgressMeter(ShowProgress show);
  /// For tests: to `write`, with the time from `now`.
  ProgressMeter(bool in_place, std::function<void(std::string_view)> write,
                std::function<Clock::time_point()> now);
  ProgressMeter(const ProgressMeter&) = delete;
  ProgressMeter& operator=(const ProgressMeter&) = delete;
  /// Clears the line on a terminal.
  ~ProgressMeter();

  /// `tokens` 0 throughout: the work makes none, and none are shown. `fraction` of the whole work that is
  /// done, where that is known.
  void add(std::int64_t bytes, std::int64_t tokens, std::optional<double> fraction);
  /// The work is done; shows the last line where it stays.
  void finish();

  [[nodiscard]] double megabytes() const { return static_cast<double>(bytes_) * 1e-6; }
  [[nodiscard]] double seconds() const;

 private:
  [[nodiscard]] std::string line() const;
  void show();

  bool in_place_;
  std::function<void(std::string_view)> write_;  ///< empty: nothing is shown
  std::function<Clock::time_point()> now_;
  Clock::time_point start_;
  Clock::time_point last_;
  std::size_t shown_ = 0;  ///< characters on the terminal's line
  std::int64_t bytes_ = 0;
  std::int64_t tokens_ = 0;
  std::optional<double> fraction_;
};

}  // namespace shardgpt
