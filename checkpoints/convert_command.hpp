#pragma once

#include <ostream>

#include "checkpoints/convert_options.hpp"

namespace shardgpt {

/// The commands of shardgpt-convert. Each throws InputError for bad input and Error for what fails on the
/// way, leaves nothing that looks finished then, and holds one piece of a tensor at a time.
void export_to_hf(const ExportOptions& options, std::ostream& out);
void import_from_hf(const ImportOptions& options, std::ostream& out);
void merge_checkpoint(const MergeOptions& options, std::ostream& out);
/// Prints what a checkpoint says of itself; reads no tensor's values.
void inspect_checkpoint(const CheckOptions& options, std::ostream& out);
/// Compares every checksum; throws DamagedCheckpoint that lists what is damaged.
void verify_checkpoint(const CheckOptions& options, std::ostream& out);

}  // namespace shardgpt
