#pragma once

#include <iosfwd>

#include "data_prep/prep_options.hpp"

namespace shardgpt {

// The commands of shardgpt-prep. Each reports to `out` in a few lines and throws InputError or Error.

void run_encode(const EncodeOptions& options, std::ostream& out);
void run_train_bpe(const TrainBpeOptions& options, std::ostream& out);
/// Writes the bytes to `out` where options.output is "-".
void run_decode(const DecodeOptions& options, std::ostream& out);
void run_inspect(const InspectOptions& options, std::ostream& out);
/// Token files of other programs to a set, and back.
void run_import(const ImportOptions& options, std::ostream& out);
void run_export(const ExportOptions& options, std::ostream& out);
/// Throws InputError after listing every difference.
void run_verify(const VerifyOptions& options, std::ostream& out);

}  // namespace shardgpt
