#include "core/log.hpp"

#include <atomic>
#include <cstdio>
#include <mutex>

namespace shardgpt {
namespace {

std::atomic<LogLevel> minimum_level{LogLevel::info};

struct Prefix {
  std::mutex mutex;
  std::string text = "shardgpt";
};

Prefix& prefix() {
  static Prefix instance;
  return instance;
}

}  // namespace

void set_log_prefix(std::string text) {
  const std::lock_guard lock(prefix().mutex);
  prefix().text = std::move(text);
}

void set_log_level(LogLevel level) {
  minimum_level = level;
}

void log_message(LogLevel level, std::string_view text) {
  if (level < minimum_level.load()) {
    return;
  }
  std::string line;
  {
    const std::lock_guard lock(prefix().mutex);
    line = prefix().text;
  }
  line += level == LogLevel::error ? ": error: " : level == LogLevel::warning ? ": warning: " : ": ";
  line += text;
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);  // one call, so that ranks' lines do not mix
}

}  // namespace shardgpt
