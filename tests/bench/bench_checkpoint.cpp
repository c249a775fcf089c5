// Times saving and loading of a preset model's full state against what the disk gives: `dd conv=fsync` of as
// many bytes, and `cat` of a file that is not in the page cache. All are measured in turn, several times;
// medians. Usage: mpiexec -n N bench_checkpoint FOLDER [PRESET [REPEATS]]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "checkpoint/fragment_exchange.hpp"
#include "core/atomic_file.hpp"
#include "tests/checkpoint/checkpoint_fixture.hpp"

using namespace shardgpt;

namespace {

/// Takes every file under `folder` out of the page cache: those on disk can be dropped.
void drop_from_cache(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      sync_file(entry.path());
      const int file = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
      (void)::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
      ::close(file);
    }
  }
}

void run_command(const std::string& command) {
  if (std::system(command.c_str()) != 0) {
    throw Error("failed: " + command);
  }
}

/// Processor time of this process and of the commands it ran, in milliseconds.
std::int64_t cpu_milliseconds() {
  std::int64_t sum = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    (void)::getrusage(who, &usage);
    for (const timeval& part : {usage.ru_utime, usage.ru_stime}) {
      sum += std::int64_t{1000} * part.tv_sec + part.tv_usec / 1000;
    }
  }
  return sum;
}

/// One thing that is timed.
struct Row {
  std::string name;
  std::size_t reference = 0;  ///< the row that its time is compared with
  std::function<void()> prepare;
  std::function<void()> work;
  bool is_part = false;  ///< of what `reference` does: compared by time, not by speed
  std::vector<double> seconds = {};
  std::vector<double> cpu_seconds = {};  ///< of the busiest rank, waiting for others included

  void measure() {
    on_first_rank(prepare);
    world().barrier();
    const std::int64_t cpu_start = cpu_milliseconds();
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::int64_t cpu = cpu_milliseconds() - cpu_start;
    world().barrier();
    const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    cpu_seconds.push_back(static_cast<double>(world().maximum(cpu)) / 1000);
    seconds.push_back(elapsed);
  }
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

class Benchmark {
 public:
  Benchmark(std::filesystem::path folder, const std::string& preset)
      : folder_(std::move(folder)),
        table_(model_preset(preset).value()),
        shard_(table_, world(), 64),
        bytes_(12 * table_.parameters()) {
    shard_.fill_expected();
    on_first_rank([&] { std::filesystem::create_directories(folder_); });
  }

  void run(int repeats) {
    std::vector<Row> rows = make_rows();
    // Disks with a cache or a rate limit favour whoever writes first after a pause: each write row takes its
    // turn.
    const auto writes =
        static_cast<std::size_t>(std::ranges::find(rows, "cat, cold", &Row::name) - rows.begin());
    for (int repeat = 0; repeat < repeats; ++repeat) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        rows[i < writes ? (i + static_cast<std::size_t>(repeat)) % writes : i].measure();
      }
    }
    if (world().rank() == 0) {
      std::printf("%.2f GB on %d rank(s), medians of %d\n", static_cast<double>(bytes_) / 1e9, world().size(),
                  repeats);
      for (const Row& row : rows) {
        const double seconds = median(row.seconds);
        const double ratio = median(rows[row.reference].seconds) / seconds;
        std::printf("%-32s %7.3f s (cpu %6.3f s) %6.0f MB/s  %5.1f %% of the %s of %s\n", row.name.c_str(),
                    seconds, median(row.cpu_seconds), static_cast<double>(bytes_) / seconds / 1e6,
                    100 * (row.is_part ? 1 / ratio : ratio), row.is_part ? "time" : "speed",
                    rows[row.reference].name.c_str());
      }
      std::filesystem::remove_all(folder_);
    }
  }

 private:
  [[nodiscard]] Row save_row(std::string name, const std::string& file, const SaveOptions& options) {
    return {std::move(name), 0, [this, file] { std::filesystem::remove_all(folder_ / file); },
            [this, file, options] {
              save_checkpoint(world(), folder_ / file / "a.h5", table_, {}, shard_.pieces(), options);
            }};
  }
  [[nodiscard]] Row load_row(std::string name, std::size_t reference, const std::string& file) {
    return {std::move(name), reference, [this, file] { drop_from_cache(folder_ / file); },
            [this, file] {
              load_checkpoint(world(), read_checkpoint_info(world(), folder_ / file / "a.h5"), table_,
                              shard_.mutable_pieces());
            }};
  }

  std::vector<Row> make_rows() {
    SaveOptions quick;
    quick.verify_after_write = false;
    SaveOptions independent = quick;
    independent.io.mode = MpiIoMode::independent;
    SaveOptions aggregated = quick;
    aggregated.io.hints = {{"collective_buffering", "true"}, {"romio_cb_write", "enable"}};
    SaveOptions parts = save_as(CheckpointFiles::node);  // every rank a node of its own
    parts.verify_after_write = false;
    const std::string dd_file = (folder_ / "dd").string();
    const std::string dd = "dd if=/dev/zero of=" + dd_file + " bs=1M count=" + std::to_string(bytes_ >> 20) +
                           " conv=fsync status=none";
    const std::string cat = "cat " + (folder_ / "shared" / "a.h5").string() + " > /dev/null";
    std::vector<Row> rows;
    rows.push_back({"dd conv=fsync", 0, [dd_file] { std::filesystem::remove(dd_file); },
                    [dd] { on_first_rank([&] { run_command(dd); }); }});
    rows.push_back(save_row("save", "shared", quick));
    rows.push_back(save_row("save, read back (the default)", "shared", SaveOptions()));
    rows.push_back(save_row("save, independent", "independent", independent));
    rows.push_back(save_row("save, through aggregators", "aggregated", aggregated));
    rows.push_back(save_row("save, a file per rank", "parts", parts));
    const std::size_t cat_row = rows.size();
    rows.push_back({"cat, cold", cat_row, [this] { drop_from_cache(folder_ / "shared"); },
                    [cat] { on_first_rank([&] { run_command(cat); }); }});
    rows.push_back(load_row("load, cold", cat_row, "shared"));
    rows.push_back(load_row("load, cold, a file per rank", cat_row, "parts"));
    rows.push_back({"checksums alone", cat_row + 1, [] {}, [this] { compute_checksums(); }, true});
    return rows;
  }

  void compute_checksums() const {
    const std::vector<UnitPiece> pieces = shard_.pieces();
    std::vector<TensorFragment> fragments = piece_fragments(table_, pieces);
    for (std::size_t unit = 0; unit < table_.units().size(); ++unit) {
      for (const StateKind kind : state_kinds) {
        add_checksums(fragments, table_, pieces, static_cast<std::int64_t>(unit), kind);
      }
    }
  }

  std::filesystem::path folder_;
  TensorTable table_;
  ModelShard shard_;
  std::int64_t bytes_;
};

}  // namespace

int main(int argc, char** argv) {
  test::start_session(argc, argv);
  if (argc < 2) {
    std::fputs("usage: bench_checkpoint FOLDER [PRESET [REPEATS]]\n", stderr);
    return exit_bad_input;
  }
  try {
    Benchmark(std::filesystem::path(argv[1]) / "bench_checkpoint", argc > 2 ? argv[2] : "gpt2")
        .run(argc > 3 ? std::max(1, std::atoi(argv[3])) : 5);
    test::end_session();
    return exit_done;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_checkpoint: %s\n", error.what());
    MpiSession::abort(exit_error);
  }
}
