#pragma once

#include <stdexcept>
#include <string>

namespace shardgpt {

/// Exit codes of every program of the project.
enum ExitCode : int {
  exit_done = 0,       ///< finished; nothing left to do
  exit_error = 1,      ///< something failed while working
  exit_bad_input = 2,  ///< bad usage or bad input, found before any work
  exit_run_again = 75  ///< stopped by a signal or a limit after saving: run the same command again
};

/// Anything that went wrong while working: exit code 1.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Input that is wrong (a file, an option, a value): exit code 2. The message says what, where (file, field,
/// byte), the value found, the value wanted and what to do.
class InputError : public Error {
 public:
  using Error::Error;
};

[[noreturn]] void throw_input_error(const std::string& message);
[[noreturn]] void throw_expectation_failed(const char* condition, const char* file, int line);

}  // namespace shardgpt

/// Always checked; for input. `message` is evaluated only on failure.
#define SHARDGPT_REQUIRE(condition, message)  \
  do {                                        \
    if (!(condition)) {                       \
      ::shardgpt::throw_input_error(message); \
    }                                         \
  } while (false)

/// Checked where SHARDGPT_DEBUG_CHECKS is on; for errors of the caller. Throws std::logic_error.
#if SHARDGPT_DEBUG_CHECKS
#define SHARDGPT_EXPECT(condition)                                          \
  do {                                                                      \
    if (!(condition)) {                                                     \
      ::shardgpt::throw_expectation_failed(#condition, __FILE__, __LINE__); \
    }                                                                       \
  } while (false)
#else
#define SHARDGPT_EXPECT(condition) \
  do {                             \
  } while (false)
#endif
