#include <map>

#include <boost/test/unit_test.hpp>

#include "train/launch_check.hpp"
#include "train/placement.hpp"

using namespace shardgpt;

namespace {

LaunchVerdict judge(int ranks, const std::map<std::string, std::string>& environment,
                    bool allow_one_rank = false) {
  const LaunchClaims claims = read_launch_claims([&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  });
  return judge_launch(ranks, claims, allow_one_rank);
}

bool silent(const LaunchVerdict& verdict) {
  return verdict.refusal.empty() && verdict.warning.empty();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(launch_check)

BOOST_AUTO_TEST_CASE(nothing_to_say) {
  BOOST_TEST(silent(judge(1, {})));
  BOOST_TEST(silent(judge(4, {{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_NTASKS", "4"}})));
  BOOST_TEST(
      silent(judge(2, {{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_NTASKS", "8"}})));  // a step of a larger job
  BOOST_TEST(silent(judge(2, {{"OMPI_COMM_WORLD_SIZE", "2"}})));
  // mpirun, whose daemons srun started
  BOOST_TEST(silent(
      judge(4, {{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_NTASKS", "4"}, {"OMPI_COMM_WORLD_SIZE", "4"}})));
  BOOST_TEST(silent(judge(1, {{"SLURM_NTASKS", "1"}})));
  BOOST_TEST(silent(judge(1, {{"SLURM_NTASKS", "many"}})));  // no number claims nothing
}

BOOST_AUTO_TEST_CASE(processes_that_do_not_know_each_other_are_refused) {
  for (const char* name : {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE"}) {
    const LaunchVerdict verdict = judge(1, {{name, "4"}});
    BOOST_TEST(verdict.refusal.find(name) != std::string::npos);
    BOOST_TEST(verdict.refusal.find("--mpi=pmix") != std::string::npos);
    BOOST_TEST(verdict.warning.empty());
  }
}

BOOST_AUTO_TEST_CASE(one_rank_that_is_meant_is_allowed) {
  const LaunchVerdict verdict = judge(1, {{"SLURM_NTASKS", "4"}}, /*allow_one_rank=*/true);
  BOOST_TEST(verdict.refusal.empty());
  BOOST_TEST(!verdict.warning.empty());
  // mpirun -n 1 within an allocation of four tasks
  BOOST_TEST(judge(1, {{"SLURM_NTASKS", "4"}, {"OMPI_COMM_WORLD_SIZE", "1"}}).refusal.empty());
}

BOOST_AUTO_TEST_CASE(left_over_variables_only_warn) {
  const LaunchVerdict verdict =
      judge(2, {{"SLURM_NTASKS", "8"}, {"PMI_SIZE", "16"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
  BOOST_TEST(verdict.refusal.empty());
  BOOST_TEST(verdict.warning.find("SLURM_NTASKS is 8") != std::string::npos);
  BOOST_TEST(!judge(2, {{"SLURM_NTASKS", "1"}}).warning.empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(placement)

namespace {

constexpr long long plenty = 1LL << 40;

std::vector<RankPlace> places(std::vector<std::string> hosts, const std::vector<int>& cores, int threads) {
  std::vector<RankPlace> result;
  for (std::string& host : hosts) {
    result.push_back({std::move(host), cores, threads, plenty, -1});
  }
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(ranks_that_are_alike_share_a_line) {
  auto list = places({"a", "a", "b"}, {0, 1, 2, 5}, 2);
  BOOST_TEST(
      describe_places(list, "cpu") ==
      "ranks 0-1 on a: cpu, cores 0-2,5, 2 thread(s) each\nrank 2 on b: cpu, cores 0-2,5, 2 thread(s)");
}

BOOST_AUTO_TEST_CASE(all_ranks_on_one_core_are_told) {
  const auto warnings = placement_warnings(places({"a", "a", "a", "a"}, {7}, 1));
  BOOST_REQUIRE(warnings.size() == 1U);
  BOOST_TEST(warnings[0].find("4 rank(s) on a") != std::string::npos);
  BOOST_TEST(warnings[0].find("core(s) 7") != std::string::npos);
  BOOST_TEST(warnings[0].find("--cpus-per-task") != std::string::npos);
  BOOST_TEST(placement_warnings(places({"a", "a"}, {0, 1}, 1)).empty());
  BOOST_TEST(placement_warnings(places({"a", "b"}, {0}, 1)).empty());  // the same number on another host
}

BOOST_AUTO_TEST_CASE(small_limits_are_told) {
  auto list = places({"a", "a"}, {0, 1}, 1);
  list[1].shared_memory_bytes = 1 << 20;
  BOOST_REQUIRE(placement_warnings(list).size() == 1U);
  BOOST_TEST(placement_warnings(list)[0].find("--shm-size") != std::string::npos);
  list = places({"a", "b"}, {0}, 1);
  list[0].locked_memory_bytes = 64 << 10;
  BOOST_REQUIRE(placement_warnings(list).size() == 1U);
  BOOST_TEST(placement_warnings(list)[0].find("64 KiB") != std::string::npos);
  list[1].host = list[0].host;
  list[1].cores = {1};
  BOOST_TEST(placement_warnings(list).empty());  // one node needs no network
}

BOOST_AUTO_TEST_CASE(this_process) {
  const RankPlace own = own_place(3);
  BOOST_TEST(!own.host.empty());
  BOOST_TEST(!own.cores.empty());
  BOOST_TEST(own.threads == 3);
}

BOOST_AUTO_TEST_SUITE_END()
