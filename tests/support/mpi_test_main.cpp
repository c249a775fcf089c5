// main of test programs that run under mpiexec.
#include "tests/support/mpi_test.hpp"

namespace {

bool init_unit_test() {
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  shardgpt::test::start_session(argc, argv);
  const int failed = boost::unit_test::unit_test_main(&init_unit_test, argc, argv);
  shardgpt::test::end_session();
  return failed;
}
