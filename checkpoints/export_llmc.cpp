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

/// A linear weight, whole, as [out, in].
std::vector<float> transposed(const SourceCheckpoint& source, const TensorSpec& tensor) {
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(tensor.elements));
  source.stream(tensor, StateKind::param, [&](std::span<const float> piece) {
    values.insert(values.end(), piece.begin(), piece.end());
  });
  std::vector<float> result(values.size());
  transpose(values, tensor.shape[0], tensor.shape[1], result);
  return result;
}

void write_tensor(const SourceCheckpoint& source, const LlmcTensor& place, WeightType type,
                  BinaryWriter& file) {
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
  for (const LlmcTensor& place : llmc_tensors(source.table(), header)) {
    write_tensor(source, place, header.type, file);
  }
  file.finish();
  output.publish();
  out << "wrote " << source.table().tensors().size() << " tensors, " << source.table().parameters()
      << " parameters as " << torch_name(options.dtype) << ", from " << source.info().path.string() << " to "
      << options.output.string() << '\n';
}

}  // namespace shardgpt
