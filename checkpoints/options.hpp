#pragma once

#include <functional>
#include <ostream>

namespace shardgpt {

/// What the command line asks for.
struct ConvertRequest {
  std::function<void(std::ostream&)> command;  ///< empty: nothing to run
  int exit_code = 0;                           ///< where there is nothing to run
};

/// Parses the command line. Help and version go to `out`, usage errors to `error`, with exit code 2.
[[nodiscard]] ConvertRequest parse_convert_options(int argc, const char* const* argv, std::ostream& out,
                                                   std::ostream& error);

}  // namespace shardgpt
