#pragma once

#include <string>
#include <vector>

namespace shardgpt {

/// Name of the machine, "unknown" where the system does not tell.
[[nodiscard]] std::string host_name();
/// Numbers of the cores that this process may run on (its affinity mask), ascending; empty: unknown.
[[nodiscard]] std::vector<int> allowed_cores();

}  // namespace shardgpt
