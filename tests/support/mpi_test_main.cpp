// main of test programs that run under mpiexec.
#include <memory>

#include "tests/support/mpi_test.hpp"

namespace {

std::unique_ptr<shardgpt::MpiSession> the_session;

bool init_unit_test() {
  return true;
}

}  // namespace

const shardgpt::MpiSession& shardgpt::test::session() {
  return *the_session;
}

int main(int argc, char** argv) {
  the_session = std::make_unique<shardgpt::MpiSession>(argc, argv);
  const int failed = boost::unit_test::unit_test_main(&init_unit_test, argc, argv);
  the_session.reset();
  return failed;
}
