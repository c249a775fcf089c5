#include "tests/support/mpi_test.hpp"

using namespace shardgpt;
using namespace shardgpt::test;

BOOST_AUTO_TEST_SUITE(mpi_session)

BOOST_AUTO_TEST_CASE(texts_and_numbers_reach_all_ranks) {
  for (const Waiting waiting : {Waiting::spinning, Waiting::sleeping}) {
    const MpiComm world = session().world().duplicate(waiting);
    const std::string mine(static_cast<std::size_t>(world.rank()) * 3, 'x');
    const std::vector<std::string> all = world.all_gather(mine);
    for (int rank = 0; rank < world.size(); ++rank) {
      BOOST_TEST(all[static_cast<std::size_t>(rank)].size() == static_cast<std::size_t>(rank) * 3);
    }
    BOOST_TEST(world.sum(world.rank() + 1) == world.size() * (world.size() + 1) / 2);
    BOOST_TEST(world.maximum(-world.rank()) == 0);
    BOOST_TEST(world.all(world.rank() >= 0));
    BOOST_TEST(world.all(world.rank() == 0) == (world.size() == 1));
    world.barrier();
  }
}

BOOST_AUTO_TEST_CASE(a_phase_that_fails_on_one_rank_fails_on_all_with_its_message) {
  const MpiComm& world = session().world();
  const int failing = world.size() - 1;
  const auto has_text = [](const std::exception& error) {
    return std::string(error.what()) == "the file is bad";
  };
  BOOST_CHECK_EXCEPTION(run_phase(world,
                                  [&] {
                                    if (world.rank() == failing) {
                                      throw InputError("the file is bad");
                                    }
                                  }),
                        InputError, has_text);
  BOOST_CHECK_EXCEPTION(run_phase(world,
                                  [&] {
                                    if (world.rank() == failing) {
                                      throw Error("the file is bad");
                                    }
                                  }),
                        Error, [&](const Error& error) {
                          return has_text(error) && dynamic_cast<const InputError*>(&error) == nullptr;
                        });
  run_phase(world, [] {});
}

BOOST_AUTO_TEST_CASE(the_lowest_failing_rank_is_heard) {
  const MpiComm& world = session().world();
  const std::string mine = "rank " + std::to_string(world.rank());
  BOOST_CHECK_EXCEPTION(run_phase(world, [&] { throw InputError(mine); }), InputError,
                        [](const InputError& error) { return std::string(error.what()) == "rank 0"; });
}

BOOST_AUTO_TEST_CASE(errors_of_mpi_are_thrown) {
  int value = 0;
  BOOST_CHECK_THROW(
      SHARDGPT_MPI(MPI_Send(&value, 1, MPI_INT, session().world().size() + 5, 0, session().world().raw())),
      MpiError);
}

BOOST_AUTO_TEST_SUITE_END()
