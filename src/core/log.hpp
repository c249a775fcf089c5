#pragma once

#include <string>
#include <string_view>

namespace shardgpt {

enum class LogLevel { info, warning, error };

/// Sets the text in front of every line of this process ("shardgpt-train rank 2"); call once, from main.
void set_log_prefix(std::string prefix);

/// Messages below `level` are dropped. Rank 0 usually keeps info, the others warning.
void set_log_level(LogLevel level);

/// Writes one line to standard error, whole, from any thread.
void log_message(LogLevel level, std::string_view text);

inline void log_info(std::string_view text) {
  log_message(LogLevel::info, text);
}
inline void log_warning(std::string_view text) {
  log_message(LogLevel::warning, text);
}
inline void log_error(std::string_view text) {
  log_message(LogLevel::error, text);
}

}  // namespace shardgpt
