#include "train/checkpoint_options.hpp"

namespace shardgpt {
namespace {

/// A collective transfer waits for its peers inside MPI, spinning and holding locks that training needs:
/// beside training each rank writes on its own.
MpiIoMode io_mode(const std::string& option, SaveMode mode) {
  if (option == "auto") {
    return mode == SaveMode::beside_training ? MpiIoMode::independent : MpiIoMode::collective;
  }
  return option == "independent" ? MpiIoMode::independent : MpiIoMode::collective;
}

ParallelIo parallel_io(const CheckpointOptions& options, SaveMode mode) {
  ParallelIo io;
  io.mode = io_mode(options.io, mode);
  for (const std::string& hint : options.hints) {
    const std::size_t equals = hint.find('=');
    io.hints.emplace_back(hint.substr(0, equals), hint.substr(equals + 1));
  }
  return io;
}

}  // namespace

SaveOptions save_options(const CheckpointOptions& options, SaveMode mode) {
  SaveOptions save;
  save.verify_after_write = options.verify == "on";
  save.files = options.files == "node" ? CheckpointFiles::node : CheckpointFiles::shared;
  save.ranks_per_file = options.ranks_per_file;
  save.io = parallel_io(options, mode);
  save.alignment_bytes = options.alignment;
  return save;
}

}  // namespace shardgpt
