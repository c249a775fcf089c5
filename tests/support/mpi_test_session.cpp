#include <memory>

#include "tests/support/mpi_test.hpp"

namespace shardgpt::test {
namespace {

std::unique_ptr<MpiSession> the_session;

}  // namespace

const MpiSession& session() {
  return *the_session;
}

void start_session(int& argc, char**& argv) {
  the_session = std::make_unique<MpiSession>(argc, argv);
}

void end_session() {
  the_session.reset();
}

}  // namespace shardgpt::test
