#pragma once

#include <ostream>

#include "checkpoints/convert_options.hpp"

namespace shardgpt {

/// The commands of shardgpt-convert. Each throws InputError for bad input and Error for what fails on the
/// way, leaves nothing that looks finished then, and holds one piece of a tensor at a time (llm.c's files:
/// one linear weight; verify --against: one unit of the model).
void export_to_hf(const ExportOptions& options, std::ostream& out);
void import_from_hf(const ImportHfOptions& options, std::ostream& out);
void export_to_llmc(const ExportLlmcOptions& options, std::ostream& out);
void import_from_llmc(const ImportOptions& options, std::ostream& out);
void merge_checkpoint(const MergeOptions& options, std::ostream& out);
/// Prints what a checkpoint, a Hugging Face folder or a model file of llm.c says of itself and statistics of
/// its values. Damaged tensors are marked; then it throws InputError at the end.
void inspect_model(const InspectOptions& options, std::ostream& out);
/// Compares every checksum; throws DamagedCheckpoint that lists what is damaged. With `against` also the
/// logits of the two models; throws Error naming the tensors that differ where they are further apart than
/// `limit`.
void verify_checkpoint(const VerifyOptions& options, std::ostream& out);

}  // namespace shardgpt
