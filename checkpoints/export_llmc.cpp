#include <string>
#include <vector>

#include "checkpoints/convert_command.hpp"
#include "checkpoints/llmc_format.hpp"
#include "checkpoints/output_folder.hpp"
#include "checkpoints/source_checkpoint.hpp"
#include "core/log.hpp"
#include "hf/binary_writer.hpp"
#include "hf/weight_io.hpp"

namespace shardgpt {
namespace {

/// Turns linear weights. Keeps its memory: fresh pages for each weight cost more than the copying.
class Transposer {
 public:
  /// A whole linear weight as [out, in]; valid until the next call.
  std::span<const float> operator()(const SourceCheckpoint& source, const TensorSpec& tensor) {
    values_.clear();
    source.stream(tensor, StateKind::param, [&](std::span<const float> piece) {
      values_.insert(values_.end(), piece.begin(), piece.end());
    });
    result_.resize(values_.size());
    transpose(values_, tensor.shape[0], tensor.shape[1], result_);
    return result_;
  }

 private:
  std::vector<float> values_;
  std::vector<float> result_;
};

void write_tensor(const SourceCheckpoint& source, const LlmcTensor& place, WeightType type,
                  Transposer& transposed, BinaryWriter& file) {
  const TensorSpec& tensor = source.table().tensors()[place.index];
  if (place.transposed) {
    append_weights(file, type, transposed(source, tensor), tensor.name);
  } else {
    source.stream(tensor, StateKind::param,
                  [&](std::span<const float> values) { append_weights(file, type, values, tensor.name); });
  }
  append_weights(file, type, std::vector<float>(static_cast<std::size_t>(place.pad_elements)), tensor.name);
}

void warn_of_what_is_lost(const ModelConfig& config) {
  const std::int64_t taken = llmc_end_of_text(config.vocab);
  if (config.bos_token != taken || config.eos_token != taken) {
    log_warning("the file keeps no token ids: begin of text " + std::to_string(config.bos_token) +
                " and end of text " + std::to_string(config.eos_token) + " are lost, an import takes " +
                std::to_string(taken));
  }
}

}  // namespace

void export_to_llmc(const ExportLlmcOptions& options, std::ostream& out) {
  const SourceCheckpoint source(options.checkpoint);
  const LlmcHeader header = llmc_header_of(source.info().config, options.dtype);
  PendingOutput output(options.output, PendingOutput::Kind::file,
                       options.overwrite ? Overwrite::allow : Overwrite::refuse);
  warn_of_what_is_lost(header.config);
  output.require_space(llmc_file_bytes(header));
  BinaryWriter file(output.path());
  const std::string start = make_llmc_header(header);
  file.write(std::as_bytes(std::span(start)));
  Transposer transposed;
  for (const LlmcTensor& place : llmc_tensors(source.table(), header)) {
    write_tensor(source, place, header.type, transposed, file);
  }
  file.finish();
  output.publish();
  out << "wrote " << source.table().tensors().size() << " tensors, " << source.table().parameters()
      << " parameters as " << torch_name(options.dtype) << ", from " << source.info().path.string() << " to "
      << options.output.string() << '\n';
}

}  // namespace shardgpt
