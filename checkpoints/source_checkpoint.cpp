#include "checkpoints/source_checkpoint.hpp"

#include <algorithm>
#include <vector>

#include "checkpoint/checkpoint_error.hpp"
#include "checkpoint/run_folder.hpp"

namespace shardgpt {
namespace {

constexpr std::int64_t piece_elements = std::int64_t{1} << 22;  // 16 MiB

/// As many whole rows as fit a piece, at least one.
std::int64_t piece_of(const TensorSpec& tensor) {
  const std::int64_t row = tensor.shape.size() == 2 ? tensor.shape[1] : 1;
  return std::max<std::int64_t>(1, piece_elements / row) * row;
}

}  // namespace

std::filesystem::path resolve_checkpoint(const std::filesystem::path& path) {
  SHARDGPT_REQUIRE(std::filesystem::exists(path), path.string() + ": no such file or folder");
  if (!std::filesystem::is_directory(path)) {
    return path;
  }
  const auto whole = std::filesystem::weakly_canonical(path);
  const bool inner = whole.filename() == "checkpoints";
  const auto found = complete_checkpoints(inner ? whole.parent_path() : whole);
  SHARDGPT_REQUIRE(!found.empty(), path.string() + " holds no checkpoint (checkpoints/step_*.h5)");
  return found.back();
}

SourceCheckpoint::SourceCheckpoint(const std::filesystem::path& path)
    : info_(read_checkpoint_info(resolve_checkpoint(path))),
      table_(info_.config),
      checksums_(read_tensor_checksums(H5File::open(info_.path, H5File::Access::read), table_)),
      values_(info_, table_) {}

void SourceCheckpoint::stream(const TensorSpec& tensor, StateKind kind,
                              const std::function<void(std::span<const float>)>& consume) const {
  const auto index = static_cast<std::size_t>(&tensor - table_.tensors().data());
  const std::int64_t piece = piece_of(tensor);
  std::vector<float> values;
  std::uint32_t crc = 0;
  for (std::int64_t done = 0; done < tensor.elements; done += piece) {
    values.resize(static_cast<std::size_t>(std::min(piece, tensor.elements - done)));
    values_.read(tensor.unit, kind, tensor.offset + done, values);
    crc = crc32_of(std::span<const float>(values), crc);
    consume(values);
  }
  if (crc != checksums_.at(index)[static_cast<std::size_t>(kind)]) {
    throw DamagedCheckpoint(info_.path, "the checksum of " + std::string(state_kind_name(kind)) + " of " +
                                            tensor.name + " is wrong");
  }
}

}  // namespace shardgpt
