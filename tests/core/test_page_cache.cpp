#include <filesystem>

#include <boost/test/unit_test.hpp>
#include <unistd.h>

#include "core/atomic_file.hpp"
#include "core/page_cache.hpp"

using namespace shardgpt;

BOOST_AUTO_TEST_SUITE(page_cache)

// What the kernel makes of advice cannot be seen; it must change nothing and never fail.
BOOST_AUTO_TEST_CASE(advice_changes_nothing_and_never_fails) {
  const auto path =
      std::filesystem::temp_directory_path() / ("shardgpt-advice-" + std::to_string(::getpid()));
  const std::string content(100'000, 'x');
  write_file_atomically(path, content);
  {
    PageCacheAdvice first(path);
    const PageCacheAdvice advice(std::move(first));
    for (const auto& [offset, bytes] : {std::pair(0, 100'000), std::pair(5, 10), std::pair(200'000, 10),
                                        std::pair(-1, 10), std::pair(0, 0), std::pair(0, -5)}) {
      advice.write_soon(offset, bytes);
      advice.read_soon(offset, bytes);
    }
  }
  BOOST_TEST(read_text_file(path) == content);
  std::filesystem::remove(path);
  const PageCacheAdvice missing(path);
  missing.write_soon(0, 10);
  missing.read_soon(0, 10);
  BOOST_TEST(!std::filesystem::exists(path));
}

BOOST_AUTO_TEST_SUITE_END()
