// One rank, datasets of more than 2^31 bytes (P06): written and read in one piece limit's worth of calls, in
// one file and in parts. Needs 7 GB of memory and of disk.
#include <iostream>

#include "checkpoint/verify.hpp"
#include "checkpoint_fixture.hpp"

using namespace shardgpt;

namespace {

/// A token table of 2.15 GB and hardly anything else.
ModelConfig large_config() {
  ModelConfig config = small_config(1024);
  config.layers = 1;
  config.vocab = 525'000;
  config.bos_token = config.eos_token = 0;
  return config;
}

bool round_trip(const std::filesystem::path& file, const TensorTable& table, ModelShard& shard,
                CheckpointFiles files) {
  shard.fill_expected();
  save_checkpoint(world(), file, table, {{"step", 1}}, shard.pieces(), save_as(files));
  shard.fill_garbage();
  load_checkpoint(world(), read_checkpoint_info(world(), file), table, shard.mutable_pieces());
  const bool sound = shard.has_expected() && verify_tensors(read_checkpoint_info(file)).empty();
  std::cerr << name_of(files) << (sound ? ": sound\n" : ": other values than were saved\n");
  return sound;
}

}  // namespace

int main(int argc, char** argv) {
  test::start_session(argc, argv);
  bool sound = true;
  {
    const SharedFolder folder;
    const TensorTable table(large_config());
    const bool large = table.units()[0].elements * 4 > (std::int64_t{1} << 31) + 4096;
    ModelShard shard(table, world(), 1);
    for (const CheckpointFiles files : both_file_modes) {
      sound = large && round_trip(folder.path / "a.h5", table, shard, files) && sound;
    }
  }
  test::end_session();
  return sound ? 0 : 1;
}
