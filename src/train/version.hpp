#pragma once

#include <string>

namespace shardgpt {

/// "shardgpt 0.1.0 (git abc1234), g++ 12.2.0, Release": what --version prints and checkpoints record.
[[nodiscard]] std::string version_text();

}  // namespace shardgpt
