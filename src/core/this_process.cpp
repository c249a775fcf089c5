#include "core/this_process.hpp"

#include <array>
#include <cstddef>

#include <sched.h>
#include <unistd.h>

namespace shardgpt {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) {
        cores.push_back(static_cast<int>(core));
      }
    }
  }
  return cores;
}

}  // namespace shardgpt
