// A save on a file system that is too small: an error on all ranks before any data moves, nothing left
// behind, the earlier checkpoint intact. Needs the right to mount a tmpfs; skipped (77) without.
#include <iostream>

#include <sys/mount.h>

#include "checkpoint/run_folder.hpp"
#include "checkpoint_fixture.hpp"
#include "core/log.hpp"

using namespace shardgpt;

namespace {

constexpr int skipped = 77;

/// A tmpfs on `path` while it lives, mounted by rank 0.
struct TinyFileSystem {
  explicit TinyFileSystem(std::filesystem::path where) : path(std::move(where)) {
    const bool here = world().rank() != 0 || ::mount("none", path.c_str(), "tmpfs", 0, "size=192k") == 0;
    mounted = world().all(here);
  }
  ~TinyFileSystem() {
    world().barrier();
    if (mounted && world().rank() == 0 && ::umount(path.c_str()) != 0) {
      log_error("cannot unmount " + path.string());
    }
  }
  std::filesystem::path path;
  bool mounted = false;
};

bool check(bool condition, const char* what) {
  if (!world().all(condition)) {
    std::cerr << "failed: " << what << '\n';
    return false;
  }
  return true;
}

bool run(const std::filesystem::path& folder) {
  const TensorTable small(small_config(8));
  ModelShard kept(small, world(), 1);
  kept.fill_expected();
  save_checkpoint(world(), checkpoint_path(folder, 1), small, {{"step", 1}}, kept.pieces());
  const TensorTable large(small_config(32));
  ModelShard shard(large, world(), 1);
  const std::string error = error_of([&] {
    save_checkpoint(world(), checkpoint_path(folder, 2), large, {{"step", 2}}, shard.pieces());
  });
  world().barrier();
  kept.fill_garbage();
  load_checkpoint(world(), read_checkpoint_info(world(), checkpoint_path(folder, 1)), small,
                  kept.mutable_pieces());
  return check(error.find("cannot reserve") != std::string::npos, "the lack of space is the error") &&
         check(error.find("bytes are free") != std::string::npos, "the message says what is free") &&
         check(error.find("step_00000002.h5.tmp") != std::string::npos, "the message names the file") &&
         check(complete_checkpoints(folder).size() == 1, "no second checkpoint") &&
         check(!std::filesystem::exists(checkpoint_path(folder, 2).string() + ".tmp"), "nothing is left") &&
         check(kept.has_expected(), "the first checkpoint is intact");
}

}  // namespace

// A main of its own: Boost.Test has no way to say skipped.
int main(int argc, char** argv) {
  test::start_session(argc, argv);
  int result = skipped;
  {
    const SharedFolder folder;
    const TinyFileSystem tiny(folder.path);
    if (tiny.mounted) {
      result = run(folder.path) ? 0 : 1;
    }
  }
  test::end_session();
  return result;
}
