// One thread for all jobs, errors of jobs on all ranks, and an end to every wait.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <sys/resource.h>

#include "checkpoint/checkpoint_worker.hpp"
#include "checkpoint/run_folder.hpp"
#include "checkpoint_fixture.hpp"

using namespace shardgpt;
using namespace std::chrono_literals;

BOOST_FIXTURE_TEST_SUITE(worker, SharedFolder)

BOOST_AUTO_TEST_CASE(all_jobs_run_on_one_thread_that_is_not_the_callers) {
  CheckpointWorker worker(world(), 60s);
  std::set<std::thread::id> threads;
  for (int job = 0; job < 3; ++job) {
    worker.run([&](const MpiComm& comm) {
      threads.insert(std::this_thread::get_id());
      comm.barrier();
    });
  }
  BOOST_TEST(threads.size() == 1U);
  BOOST_TEST((*threads.begin() != std::this_thread::get_id()));
  BOOST_TEST(worker.run([](const MpiComm& comm) { return comm.sum(1); }) == world().size());
}

BOOST_AUTO_TEST_CASE(a_save_goes_on_beside_the_caller) {
  const TensorTable table(small_config());
  ModelShard shard(table, world(), 1);
  shard.fill_expected();
  const auto file = path / "a.h5";
  CheckpointWorker worker(world(), 60s);
  std::atomic<bool> go_on = false;
  worker.start([&](const MpiComm& comm) {
    while (!go_on) {
      std::this_thread::sleep_for(1ms);
    }
    save_checkpoint(comm, file, table, {{"step", 7}}, shard.pieces());
  });
  BOOST_TEST(worker.in_hand());
  BOOST_TEST(!worker.ended());
  BOOST_CHECK_THROW(worker.start([](const MpiComm& /*comm*/) {}), std::logic_error);
  REQUIRE_ON_ALL_RANKS(world().sum(1) == world().size());  // both threads are inside MPI
  go_on = true;
  worker.finish();
  BOOST_TEST(!worker.in_hand());
  BOOST_CHECK_THROW(worker.finish(), std::logic_error);
  shard.fill_garbage();
  worker.run([&](const MpiComm& comm) {
    load_checkpoint(comm, read_checkpoint_info(comm, file), table, shard.mutable_pieces());
  });
  REQUIRE_ON_ALL_RANKS(shard.has_expected());
}

BOOST_AUTO_TEST_CASE(only_local_work_stands_behind_compute) {
  CheckpointWorker worker(world(), 60s);
  const auto nice_of_thread = [] { return ::getpriority(PRIO_PROCESS, 0); };
  const int usual = nice_of_thread();
  std::vector<int> seen;
  worker.start([&](const MpiComm& /*comm*/) {
    seen.push_back(nice_of_thread());
    worker.run_behind_compute([&] { seen.push_back(nice_of_thread()); });
    seen.push_back(nice_of_thread());
    BOOST_CHECK_THROW(worker.run_behind_compute([] { throw AgreedError("no"); }), AgreedError);
  });
  worker.finish();
  const std::vector<int> wanted{usual, std::min(19, usual + 10), usual};  // inside MPI: as usual
  BOOST_TEST(seen == wanted);
}

BOOST_AUTO_TEST_CASE(a_save_hands_its_long_local_work_over) {
  const TensorTable table(small_config());
  ModelShard shard(table, world(), 1);
  shard.fill_expected();
  CheckpointWorker worker(world(), 60s);
  for (const MpiIoMode mode : {MpiIoMode::independent, MpiIoMode::collective}) {
    int handed_over = 0;
    SaveOptions options;
    options.io.mode = mode;
    options.local = [&](const std::function<void()>& work) {
      ++handed_over;
      worker.run_behind_compute(work);
    };
    const auto file = path / (mode == MpiIoMode::independent ? "independent.h5" : "collective.h5");
    worker.run([&](const MpiComm& comm) {
      save_checkpoint(comm, file, table, {{"step", 7}}, shard.pieces(), options);
    });
    // Checksums, reading back, and each dataset's start to the disk; rank 0 also reserves space and syncs. A
    // collective write waits for its peers inside MPI, so it is not among them.
    const int datasets = static_cast<int>(table.units().size()) * 3;
    const int alone = world().rank() == 0 ? 2 : 0;
    BOOST_TEST(handed_over == 2 + alone + (mode == MpiIoMode::independent ? 2 : 1) * datasets);
    shard.fill_garbage();
    worker.run([&](const MpiComm& comm) {
      load_checkpoint(comm, read_checkpoint_info(comm, file), table, shard.mutable_pieces());
    });
    REQUIRE_ON_ALL_RANKS(shard.has_expected());
    shard.fill_expected();
  }
}

BOOST_AUTO_TEST_CASE(an_error_of_all_ranks_waits_to_be_taken_on_each) {
  CheckpointWorker worker(world(), 60s);
  worker.start([](const MpiComm& comm) {
    run_phase(comm, [&] {
      if (comm.rank() == comm.size() - 1) {
        throw Error("the disk is full");
      }
    });
  });
  while (!worker.ended()) {
    std::this_thread::sleep_for(1ms);
  }
  worker.check();  // the others know too: there is time until all take it
  BOOST_CHECK_EXCEPTION(worker.finish(), AgreedError, [](const AgreedError& error) {
    return std::string(error.what()) == "the disk is full";
  });
  worker.run([](const MpiComm& comm) { comm.barrier(); });  // it is as good as new
}

BOOST_AUTO_TEST_CASE(an_error_of_this_rank_alone_is_thrown_at_once) {
  CheckpointWorker worker(world(), 60s);
  worker.start([](const MpiComm& /*comm*/) { throw MpiError("lost"); });
  while (!worker.ended()) {
    std::this_thread::sleep_for(1ms);
  }
  BOOST_CHECK_THROW(worker.check(), MpiError);
  BOOST_CHECK_THROW(worker.finish(), MpiError);
}

BOOST_AUTO_TEST_CASE(no_progress_ends_the_wait_and_progress_prolongs_it) {
  CheckpointWorker worker(world(), 1s);
  std::atomic<bool> go_on = false;
  worker.start([&](const MpiComm& /*comm*/) {
    for (int look = 0; look < 7; ++look) {
      std::this_thread::sleep_for(200ms);
      worker.note_progress();
    }
    while (!go_on) {
      std::this_thread::sleep_for(1ms);
    }
  });
  const auto begin = std::chrono::steady_clock::now();
  BOOST_CHECK_EXCEPTION(worker.finish(), Error, [](const Error& error) {
    return std::string(error.what()).find("no progress for 1 s") != std::string::npos;
  });
  BOOST_TEST((std::chrono::steady_clock::now() - begin > 2s));
  BOOST_CHECK_THROW(worker.check(), Error);
  go_on = true;  // the destructor, which would end the MPI job, finds a job that is done
  while (!worker.ended()) {
    std::this_thread::sleep_for(1ms);
  }
}

BOOST_AUTO_TEST_CASE(the_destructor_waits) {
  std::atomic<bool> done = false;
  {
    CheckpointWorker worker(world(), 60s);
    worker.start([&](const MpiComm& comm) {
      std::this_thread::sleep_for(50ms);
      comm.barrier();
      done = true;
      throw AgreedError("nobody takes this");
    });
  }
  BOOST_TEST(done.load());
}

BOOST_AUTO_TEST_SUITE_END()
