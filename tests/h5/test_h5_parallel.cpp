#include <array>
#include <cmath>

#include <unistd.h>

#include "h5/h5_parallel.hpp"
#include "tests/support/mpi_test.hpp"

using namespace shardgpt;

namespace {

const MpiComm& world() {
  return test::session().world();
}

/// A file with one dataset of 100 elements, made by rank 0.
struct ParallelFile {
  std::filesystem::path file =
      std::filesystem::temp_directory_path() /
      world().broadcast("shardgpt-h5-parallel-" + std::to_string(::getpid()) + ".h5", 0);
  static constexpr std::int64_t elements = 100;

  ParallelFile() {
    run_phase(world(), [&] {
      if (world().rank() == 0) {
        std::filesystem::remove(file);
        H5File out = H5File::create(file);
        out.create_floats("/data", std::span(&elements, 1));
        out.close();
      }
    });
  }
  ~ParallelFile() {
    world().barrier();
    if (world().rank() == 0) {
      std::error_code ignored;
      std::filesystem::remove(file, ignored);
    }
  }
};

std::string message_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return error.what();
  }
}

template <class Work>
std::string error_of(Work&& work) {
  try {
    work();
  } catch (...) {
    return message_of(std::current_exception());
  }
  return {};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(chunks)

BOOST_AUTO_TEST_CASE(cut_at_the_limit) {
  std::vector<float> values(10);
  for (const std::int64_t limit : {1, 4, 12, 36, 40, 44}) {
    std::vector<FloatChunk<float>> parts;
    append_chunks(parts, 5, std::span(values), limit);
    std::int64_t at = 5;
    for (const auto& part : parts) {
      BOOST_TEST(part.begin == at);
      BOOST_TEST(part.values.size_bytes() <= std::max<std::size_t>(4, static_cast<std::size_t>(limit)));
      at += static_cast<std::int64_t>(part.values.size());
    }
    BOOST_TEST(at == 15);
  }
  std::vector<FloatChunk<float>> none;
  append_chunks(none, 0, std::span<float>(), 4);
  BOOST_TEST(none.empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(h5_parallel, ParallelFile)

// Every rank brings another number of chunks, rank 0 none where there are others.
BOOST_AUTO_TEST_CASE(unlike_numbers_of_chunks_are_written_and_read) {
  std::vector<float> all(elements);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = std::sqrt(static_cast<float>(i));
  }
  const auto mine = [&](std::int64_t element) {
    const int owner =
        world().size() == 1 ? 0 : 1 + static_cast<int>(element * (world().size() - 1) / elements);
    return owner == world().rank();
  };
  std::vector<FloatChunk<const float>> chunks;
  for (std::int64_t i = 0; i < elements; ++i) {
    if (mine(i)) {
      append_chunks(chunks, i, std::span<const float>(all).subspan(static_cast<std::size_t>(i), 1), 4);
    }
  }
  H5File out = open_parallel(world(), file, H5File::Access::read_write);
  write_collective(world(), out, "/data", chunks);
  flush_parallel(world(), out);
  std::vector<float> read(elements);
  std::vector<FloatChunk<float>> wanted;
  append_chunks(wanted, 0, std::span(read), 40 * (world().rank() + 1));
  read_collective(world(), out, "/data", wanted);
  close_parallel(world(), out);
  REQUIRE_ON_ALL_RANKS(read == all);
}

BOOST_AUTO_TEST_CASE(what_one_rank_cannot_do_is_the_same_error_on_all) {
  H5File out = open_parallel(world(), file, H5File::Access::read_write);
  const std::vector<float> values(10);
  std::vector<FloatChunk<const float>> chunks;
  if (world().rank() == world().size() - 1) {
    append_chunks(chunks, elements - 5, std::span<const float>(values), 1000);
  }
  const std::string outside = error_of([&] { write_collective(world(), out, "/data", chunks); });
  REQUIRE_ON_ALL_RANKS(outside.find("elements 95 to 105 are wanted of 100") != std::string::npos);
  const std::string missing = error_of([&] { write_collective(world(), out, "/none", {}); });
  REQUIRE_ON_ALL_RANKS(missing.find("/none") != std::string::npos);
  close_parallel(world(), out);
}

BOOST_AUTO_TEST_CASE(a_missing_file_is_the_same_error_on_all) {
  const std::string error =
      error_of([&] { (void)open_parallel(world(), file.string() + ".none", H5File::Access::read); });
  REQUIRE_ON_ALL_RANKS(error.find(".none") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
