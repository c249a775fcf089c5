#include <algorithm>
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
struct HundredFloats {
  std::filesystem::path file =
      std::filesystem::temp_directory_path() /
      world().broadcast("shardgpt-h5-parallel-" + std::to_string(::getpid()) + ".h5", 0);
  static constexpr std::int64_t elements = 100;

  HundredFloats() {
    run_phase(world(), [&] {
      if (world().rank() == 0) {
        std::filesystem::remove(file);
        H5File out = H5File::create(file);
        out.create_floats("/data", std::span(&elements, 1));
        out.close();
      }
    });
  }
  ~HundredFloats() {
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

BOOST_FIXTURE_TEST_SUITE(h5_parallel, HundredFloats)

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
  for (const MpiIoMode mode : {MpiIoMode::collective, MpiIoMode::independent}) {
    ParallelFile out(world(), file, {mode, {}});
    out.write("/data", chunks);
    out.flush();
    out.close();
    std::vector<float> read(elements);
    H5File::open(file, H5File::Access::read).read_floats("/data", 0, read);
    REQUIRE_ON_ALL_RANKS(read == all);
    world().barrier();
    std::ranges::for_each(all, [](float& value) { value = -value; });  // the next mode must change the file
  }
}

BOOST_AUTO_TEST_CASE(what_one_rank_cannot_do_is_the_same_error_on_all) {
  ParallelFile out(world(), file);
  const std::vector<float> values(10);
  std::vector<FloatChunk<const float>> chunks;
  if (world().rank() == world().size() - 1) {
    append_chunks(chunks, elements - 5, std::span<const float>(values), 1000);
  }
  const std::string outside = error_of([&] { out.write("/data", chunks); });
  REQUIRE_ON_ALL_RANKS(outside.find("elements 95 to 105 are wanted of 100") != std::string::npos);
  const std::string missing = error_of([&] { out.write("/none", {}); });
  REQUIRE_ON_ALL_RANKS(missing.find("/none") != std::string::npos);
  out.close();
}

// HDF5 converts types with independent transfers only, whatever was asked for.
BOOST_AUTO_TEST_CASE(a_transfer_that_is_not_collective_after_all_is_an_error) {
  run_phase(world(), [&] {
    if (world().rank() == 0) {
      H5File add = H5File::open(file, H5File::Access::read_write);
      const std::vector<std::int32_t> numbers(static_cast<std::size_t>(elements));
      add.create_array<std::int32_t>("/integers", std::span(&elements, 1), numbers);
      add.close();
    }
  });
  const std::vector<float> values(2);
  std::vector<FloatChunk<const float>> chunks;
  append_chunks(chunks, 2 * world().rank(), std::span<const float>(values), 1000);
  ParallelFile collective(world(), file);
  const std::string error = error_of([&] { collective.write("/integers", chunks); });
  REQUIRE_ON_ALL_RANKS(error.find("fell back to independent transfers") != std::string::npos);
  collective.close();
  // Asked for, it is none.
  ParallelFile independent(world(), file, {MpiIoMode::independent, {}});
  REQUIRE_ON_ALL_RANKS(error_of([&] { independent.write("/integers", chunks); }).empty());
  independent.close();
}

BOOST_AUTO_TEST_CASE(a_hint_that_mpi_cannot_take_is_the_same_error_on_all) {
  const ParallelIo io{MpiIoMode::collective,
                      {{std::string(std::size_t{2} * MPI_MAX_INFO_KEY, 'k'), "value"}}};
  const std::string error = error_of([&] { const ParallelFile out(world(), file, io); });
  REQUIRE_ON_ALL_RANKS(error.find("MPI takes keys of 1 to") != std::string::npos);
  ParallelFile out(world(), file,
                   {MpiIoMode::collective, {{"cb_buffer_size", "4194304"}, {"unknown_to_all", "1"}}});
  out.close();
}

BOOST_AUTO_TEST_CASE(a_missing_file_is_the_same_error_on_all) {
  const std::string error = error_of([&] { const ParallelFile out(world(), file.string() + ".none"); });
  REQUIRE_ON_ALL_RANKS(error.find(".none") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
