// Saves that the file system refuses: it is full or read-only. An error on all ranks before any data moves,
// nothing left behind, the earlier checkpoint intact. Needs the right to mount a tmpfs; skipped (77) without.
// (A quota takes the way of a full disk, but whoever may mount is exempt from it.) Usage: refusing_disk
// full|read-only
#include <iostream>
#include <map>

#include <sys/mount.h>
#include <unistd.h>

#include "checkpoint/run_folder.hpp"
#include "checkpoint_fixture.hpp"
#include "core/log.hpp"

using namespace shardgpt;

namespace {

constexpr int skipped = 77;

/// One way to be refused.
struct Refusal {
  std::string mount_options;  ///< of a tmpfs with room for the first checkpoint and not for the second
  unsigned long remount = 0;  ///< flags that it gets after the first save; 0: none
  std::vector<std::string> message;
};

const std::map<std::string, Refusal> refusals = {
    {"full", {"size=256k", 0, {"No space left on device"}}},
    {"read-only", {"size=4m", MS_REMOUNT | MS_RDONLY, {"Read-only file system"}}}};

/// A tmpfs on `path` while it lives, mounted by rank 0.
struct TinyFileSystem {
  TinyFileSystem(std::filesystem::path where, const std::string& options) : path(std::move(where)) {
    const bool here = world().rank() != 0 || ::mount("none", path.c_str(), "tmpfs", 0, options.c_str()) == 0;
    mounted = world().all(here);
  }
  ~TinyFileSystem() {
    world().barrier();
    if (mounted && world().rank() == 0 && ::umount(path.c_str()) != 0) {
      log_error("cannot unmount " + path.string());
    }
  }
  [[nodiscard]] bool remount(unsigned long flags) const {
    return flags == 0 ||
           world().all(world().rank() != 0 || ::mount("none", path.c_str(), "tmpfs", flags, "") == 0);
  }
  std::filesystem::path path;
  bool mounted = false;
};

bool check(bool condition, const std::string& what) {
  if (!world().all(condition)) {
    std::cerr << "failed: " << what << '\n';
    return false;
  }
  return true;
}

bool is_refused(const std::filesystem::path& folder, const Refusal& refusal, CheckpointFiles files) {
  const TensorTable large(small_config(32));
  const ModelShard shard(large, world(), 1);
  SaveOptions options = save_as(files, 2);
  bool moved = false;
  options.on_stage = [&](std::string_view stage) { moved = moved || stage == "created"; };
  const std::string error = error_of([&] {
    save_checkpoint(world(), checkpoint_path(folder, 2), large, {{"step", 2}}, shard.pieces(), options);
  });
  world().barrier();
  bool passed = check(!moved, "refused before any data moves");
  for (const std::string& part : refusal.message) {
    passed = check(error.find(part) != std::string::npos, part + " is in the message: " + error) && passed;
  }
  if (files == CheckpointFiles::shared && refusal.remount == 0) {
    passed = check(error.find("cannot reserve") != std::string::npos &&
                       error.find("bytes are free") != std::string::npos,
                   "the message says what is wanted and free: " + error) &&
             passed;
  }
  return check(error.find("step_00000002.") != std::string::npos, "the message names the file: " + error) &&
         check(complete_checkpoints(folder).size() == 1, "no second checkpoint") &&
         check(files_under(folder) == 1 && part_folders(folder / "checkpoints").empty(), "nothing is left") &&
         passed;
}

bool run(const TinyFileSystem& tiny, const Refusal& refusal) {
  const TensorTable small(small_config(8));
  ModelShard kept(small, world(), 1);
  kept.fill_expected();
  save_checkpoint(world(), checkpoint_path(tiny.path, 1), small, {{"step", 1}}, kept.pieces());
  bool passed = check(tiny.remount(refusal.remount), "remounted");
  for (const CheckpointFiles files : both_file_modes) {
    passed = check(is_refused(tiny.path, refusal, files), name_of(files)) && passed;
  }
  kept.fill_garbage();
  load_checkpoint(world(), read_checkpoint_info(world(), checkpoint_path(tiny.path, 1)), small,
                  kept.mutable_pieces());
  return check(kept.has_expected(), "the first checkpoint is intact") && passed;
}

}  // namespace

// A main of its own: Boost.Test has no way to say skipped.
int main(int argc, char** argv) {
  test::start_session(argc, argv);
  int result = skipped;
  {
    const Refusal& refusal = refusals.at(argc > 1 ? argv[1] : "full");
    const SharedFolder folder;
    const TinyFileSystem tiny(folder.path, refusal.mount_options);
    if (tiny.mounted) {
      result = run(tiny, refusal) ? 0 : 1;
    } else if (world().rank() == 0) {
      std::cerr << "skipped: cannot mount a tmpfs with " << refusal.mount_options << '\n';
    }
  }
  test::end_session();
  return result;
}
