// Times a save and a load of a preset model's full state. Usage: mpiexec -n N bench_checkpoint FOLDER
// [PRESET]
#include <chrono>
#include <cstdio>

#include "tests/checkpoint/checkpoint_fixture.hpp"

using namespace shardgpt;

namespace {

template <class Work>
void measure(const char* what, double bytes, Work&& work) {
  world().barrier();
  const auto start = std::chrono::steady_clock::now();
  work();
  world().barrier();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (world().rank() == 0) {
    std::printf("%-28s %7.2f s  %7.0f MB/s\n", what, seconds.count(), bytes / seconds.count() / 1e6);
  }
}

void run(const std::filesystem::path& folder, const std::string& preset) {
  const TensorTable table(model_preset(preset).value());
  ModelShard shard(table, world(), 64);
  shard.fill_expected();
  const double bytes = 12.0 * static_cast<double>(table.parameters());
  const auto file = folder / "bench_checkpoint.h5";
  SaveOptions quick;
  quick.verify_after_write = false;
  measure("save, not read back", bytes,
          [&] { save_checkpoint(world(), file, table, {}, shard.pieces(), quick); });
  SaveOptions full;
  auto last = std::chrono::steady_clock::now();
  full.on_stage = [&](std::string_view stage) {
    const auto now = std::chrono::steady_clock::now();
    if (world().rank() == 0 && stage != "planned") {
      std::printf("  %-26.*s %7.2f s\n", static_cast<int>(stage.size()), stage.data(),
                  std::chrono::duration<double>(now - last).count());
    }
    last = now;
  };
  measure("save, read back", bytes, [&] { save_checkpoint(world(), file, table, {}, shard.pieces(), full); });
  measure("load", bytes, [&] {
    load_checkpoint(world(), read_checkpoint_info(world(), file), table, shard.mutable_pieces());
  });
  if (world().rank() == 0) {
    std::filesystem::remove(file);
  }
}

}  // namespace

int main(int argc, char** argv) {
  test::start_session(argc, argv);
  if (argc < 2) {
    std::fputs("usage: bench_checkpoint FOLDER [PRESET]\n", stderr);
    return exit_bad_input;
  }
  try {
    run(argv[1], argc > 2 ? argv[2] : "gpt2");
    test::end_session();
    return exit_done;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_checkpoint: %s\n", error.what());
    MpiSession::abort(exit_error);
  }
}
