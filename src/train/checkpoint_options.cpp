#include "train/checkpoint_options.hpp"

namespace shardgpt {
namespace {

ParallelIo parallel_io(const CheckpointOptions& options) {
  ParallelIo io;
  io.mode = options.io == "independent" ? MpiIoMode::independent : MpiIoMode::collective;
  for (const std::string& hint : options.hints) {
    const std::size_t equals = hint.find('=');
    io.hints.emplace_back(hint.substr(0, equals), hint.substr(equals + 1));
  }
  return io;
}

}  // namespace

SaveOptions save_options(const CheckpointOptions& options) {
  SaveOptions save;
  save.verify_after_write = options.verify == "on";
  save.files = options.files == "node" ? CheckpointFiles::node : CheckpointFiles::shared;
  save.ranks_per_file = options.ranks_per_file;
  save.io = parallel_io(options);
  save.alignment_bytes = options.alignment;
  return save;
}

}  // namespace shardgpt
