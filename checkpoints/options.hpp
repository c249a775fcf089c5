#pragma once

#include <functional>
#include <ostream>
#include <string>

namespace shardgpt {

/// What the command line asks for.
struct ConvertRequest {
  std::function<void(std::ostream&)> command;  ///< empty: nothing to run
  std::string text;                            ///< then: help or version
};

/// Parses the command line. Throws InputError for wrong usage.
[[nodiscard]] ConvertRequest parse_convert_options(int argc, const char* const* argv);

}  // namespace shardgpt
