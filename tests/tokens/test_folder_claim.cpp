#include <boost/test/unit_test.hpp>

#include "token_files.hpp"
#include "tokens/folder_claim.hpp"

using namespace shardgpt;
using namespace shardgpt::testing;

BOOST_AUTO_TEST_SUITE(folder_claim)

namespace {

struct Fixture {
  TemporaryFolder folder;
  [[nodiscard]] bool has_file() const { return std::filesystem::exists(folder.path() / claim_file_name); }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(one_at_a_time, Fixture) {
  const FolderClaim first(folder.path());
  BOOST_CHECK_EXCEPTION(FolderClaim second(folder.path()), InputError,
                        Says({folder.path().string(), "another shardgpt-prep"}));
  BOOST_TEST(has_file());
}

BOOST_FIXTURE_TEST_CASE(only_publishing_leaves_the_file, Fixture) {
  for (const auto state : {FolderClaim::State::empty, FolderClaim::State::replacing}) {
    FolderClaim(folder.path()).set(state);
    BOOST_TEST(!has_file());
  }
  FolderClaim(folder.path()).set(FolderClaim::State::publishing);
  BOOST_TEST(has_file());
  {
    FolderClaim next(folder.path());
    BOOST_TEST(next.has_leftovers());
    next.set(FolderClaim::State::publishing);
    next.release();
  }
  BOOST_TEST(!has_file());
  BOOST_TEST(!FolderClaim(folder.path()).has_leftovers());
}

BOOST_FIXTURE_TEST_CASE(what_a_killed_run_leaves, Fixture) {
  const auto leftovers = [&](const std::string& content) {
    write_bytes(folder.path() / claim_file_name, content);
    FolderClaim claim(folder.path());
    const bool result = claim.has_leftovers();
    claim.release();
    return result;
  };
  BOOST_TEST(leftovers("writing\n"));
  BOOST_TEST(leftovers("publishing\n"));
  BOOST_TEST(!leftovers("replacing\n"));  // the older set is whole
  BOOST_TEST(!leftovers(""));
}

BOOST_AUTO_TEST_SUITE_END()
