#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include "tests/support/mpi_test.hpp"
#include "train/node_memory.hpp"

using namespace shardgpt;
using namespace shardgpt::test;

namespace {

/// A tree that looks like the parts of /proc and /sys that are read.
struct Machine {
  std::filesystem::path root =
      std::filesystem::temp_directory_path() / ("shardgpt-node-memory-" + std::to_string(::getpid()));
  Machine() { write("proc/meminfo", "MemFree: 1 kB\nMemTotal:       1000 kB\nMemAvailable: 900 kB\n"); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine() { std::filesystem::remove_all(root); }
  void write(const std::filesystem::path& file, const std::string& content) const {
    std::filesystem::create_directories((root / file).parent_path());
    std::ofstream(root / file) << content;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(node_memory, Machine)

BOOST_AUTO_TEST_CASE(all_of_the_machine_or_what_a_group_allows) {
  BOOST_TEST(node_memory_bytes(root / "nowhere") == 0);
  BOOST_TEST(node_memory_bytes(root) == 1000U * 1024);
  write("proc/self/cgroup", "0::/job/step\n");
  write("sys/fs/cgroup/job/step/memory.max", "max\n");
  BOOST_TEST(node_memory_bytes(root) == 1000U * 1024);
  write("sys/fs/cgroup/job/memory.max", "5000\n");  // the group above counts too
  BOOST_TEST(node_memory_bytes(root) == 5000U);
  write("proc/self/cgroup", "5:cpu,memory:/old\n");
  write("sys/fs/cgroup/memory/old/memory.limit_in_bytes", "4000\n");
  BOOST_TEST(node_memory_bytes(root) == 4000U);
  write("sys/fs/cgroup/memory/old/memory.limit_in_bytes", "9223372036854771712\n");  // version 1: no limit
  BOOST_TEST(node_memory_bytes(root) == 1000U * 1024);
}

BOOST_AUTO_TEST_CASE(a_plan_that_does_not_fit_is_refused_by_all_ranks) {
  const auto ranks = static_cast<std::size_t>(session().world().size());  // all on this node
  BOOST_CHECK_NO_THROW(require_host_memory(session().world(), 1000, 1000 * ranks));
  BOOST_CHECK_NO_THROW(require_host_memory(session().world(), 1000, 0));
  const bool last = session().world().rank() + 1 == session().world().size();
  BOOST_CHECK_THROW(require_host_memory(session().world(), 1000, 1000 * ranks - (last ? 1 : 0)), InputError);
}

BOOST_AUTO_TEST_SUITE_END()
