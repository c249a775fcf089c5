#include "checkpoints/convert_command.hpp"
#include "checkpoints/start_checkpoint.hpp"

namespace shardgpt {
namespace {

void import_weights(const WeightSource& source, ModelFormat format, const ImportOptions& options,
                    std::ostream& out) {
  write_start_checkpoint(
      source, {{"format", model_format_name(format)}, {"path", options.source.string()}, {"moments", "zero"}},
      options.output, options.overwrite ? Overwrite::allow : Overwrite::refuse);
  out << "wrote " << source.table().tensors().size() << " tensors, " << source.table().parameters()
      << " parameters, from " << options.source.string() << " to " << options.output.string() << '\n';
}

}  // namespace

void import_from_hf(const ImportHfOptions& options, std::ostream& out) {
  const auto extra_rows = options.cut_vocab ? ExtraVocabRows::cut : ExtraVocabRows::refuse;
  import_weights(*open_hf_source(options.source, extra_rows), ModelFormat::hugging_face, options, out);
}

void import_from_llmc(const ImportOptions& options, std::ostream& out) {
  import_weights(*open_llmc_source(options.source), ModelFormat::llmc, options, out);
}

}  // namespace shardgpt
