#pragma once

#include <boost/test/unit_test.hpp>

#include "dist/mpi/mpi_session.hpp"

namespace shardgpt::test {

/// The MPI session of a test program: made by its main, used by its cases.
[[nodiscard]] const MpiSession& session();

/// For mains: mpi_test_main.cpp, or one of the program's own.
void start_session(int& argc, char**& argv);
void end_session();

}  // namespace shardgpt::test

/// A check on which all ranks agree: where it fails on one, all leave the test case together.
#define REQUIRE_ON_ALL_RANKS(condition)                                                           \
  do {                                                                                            \
    const bool here_ = static_cast<bool>(condition);                                              \
    BOOST_TEST(here_, "this rank: " #condition);                                                  \
    BOOST_TEST_REQUIRE(::shardgpt::test::session().world().all(here_), "some rank: " #condition); \
  } while (false)
