#include <algorithm>
#include <iomanip>

#include "checkpoint/checkpoint_error.hpp"
#include "checkpoint/config_json.hpp"
#include "checkpoint/verify.hpp"
#include "checkpoints/convert_command.hpp"
#include "checkpoints/source_checkpoint.hpp"

namespace shardgpt {
namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) {
    text += (text.empty() ? "" : " x ") + std::to_string(extent);
  }
  return text;
}

void print_table(const TensorTable& table, std::ostream& out) {
  std::size_t width = 0;
  for (const TensorSpec& tensor : table.tensors()) {
    width = std::max(width, tensor.name.size());
  }
  const auto name_width = static_cast<int>(width + 2);
  out << std::left << std::setw(name_width) << "tensor" << std::setw(8) << "unit" << std::right
      << std::setw(14) << "offset"
      << "  shape\n";
  for (const TensorSpec& tensor : table.tensors()) {
    out << std::left << std::setw(name_width) << tensor.name << std::setw(8)
        << table.units()[static_cast<std::size_t>(tensor.unit)].name << std::right << std::setw(14)
        << tensor.offset << "  " << shape_text(tensor.shape) << '\n';
  }
}

}  // namespace

void inspect_checkpoint(const CheckOptions& options, std::ostream& out) {
  const CheckpointInfo info = read_checkpoint_info(resolve_checkpoint(options.checkpoint));
  const TensorTable table(info.config);
  const std::size_t parts = info.parts.in_one_file() ? 0 : info.parts.files.size();
  out << "checkpoint  " << info.path.string() << "\nlayout      "
      << (parts == 0 ? "one file" : "index and " + std::to_string(parts) + " part(s)") << "\nbytes       "
      << stored_bytes(info) << "\nparameters  " << table.parameters() << "\nconfig      "
      << config_to_json(info.config).dump() << "\nstate       " << info.state.dump(2) << "\n\n";
  print_table(table, out);
}

void verify_checkpoint(const CheckOptions& options, std::ostream& out) {
  const CheckpointInfo info = read_checkpoint_info(resolve_checkpoint(options.checkpoint));
  std::string problems;
  for (const std::string& problem : verify_tensors(info)) {
    problems += (problems.empty() ? "" : "; ") + problem;
  }
  if (!problems.empty()) {
    throw DamagedCheckpoint(info.path, problems);
  }
  const TensorTable table(info.config);
  out << info.path.string() << " is sound: the checksums of " << table.tensors().size()
      << " tensors and their "
      << "moments, of the table, the configuration and the state are right\n";
}

}  // namespace shardgpt
