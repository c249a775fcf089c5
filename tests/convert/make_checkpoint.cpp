// make_checkpoint PRESET FILE zeros|random: a checkpoint of one of GPT-2's official sizes for tests of
// conversion. zeros leaves holes in the file, so it is there at once; random fills weights and moments.
#include <algorithm>
#include <bit>
#include <exception>
#include <string>
#include <vector>

#include "checkpoint/skeleton.hpp"
#include "core/error.hpp"
#include "core/log.hpp"

namespace {

using namespace shardgpt;

constexpr std::int64_t piece_elements = std::int64_t{1} << 22;

/// A cheap number in [2^-7, 2^-6) with any sign, never the same for two elements near each other
/// (splitmix64).
float value_of(std::uint64_t tensor, std::uint64_t kind, std::uint64_t element) {
  std::uint64_t bits = element * 0x9e3779b97f4a7c15U + tensor * 0xbf58476d1ce4e5b9U + kind;
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
  bits ^= bits >> 27U;
  const std::uint32_t sign = kind == 2 ? 0 : static_cast<std::uint32_t>(bits) & 0x80000000U;  // v is positive
  return std::bit_cast<float>(sign | 0x3c000000U | (static_cast<std::uint32_t>(bits >> 32U) & 0x007fffffU));
}

/// Calls consume(begin, values) with the pieces of a tensor.
template <class Consume>
void generate(std::size_t tensor, std::int64_t elements, StateKind kind, Consume&& consume) {
  std::vector<float> values;
  for (std::int64_t done = 0; done < elements; done += piece_elements) {
    values.resize(static_cast<std::size_t>(std::min(piece_elements, elements - done)));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = value_of(tensor, static_cast<std::uint64_t>(kind), static_cast<std::uint64_t>(done) + i);
    }
    consume(done, std::span<const float>(values));
  }
}

TensorChecksums checksums_of(const TensorTable& table, bool random) {
  TensorChecksums checksums;
  for (std::size_t i = 0; i < table.tensors().size(); ++i) {
    const std::int64_t elements = table.tensors()[i].elements;
    KindChecksums& own = checksums.emplace_back();
    for (const StateKind kind : state_kinds) {
      std::uint32_t& crc = own[static_cast<std::size_t>(kind)];
      if (!random) {
        crc = crc32_of_zeros(elements * static_cast<std::int64_t>(sizeof(float)));
        continue;
      }
      generate(i, elements, kind,
               [&](std::int64_t, std::span<const float> values) { crc = crc32_of(values, crc); });
    }
  }
  return checksums;
}

void make_checkpoint(const std::string& preset, const std::filesystem::path& path,
                     const std::string& content) {
  const auto config = model_preset(preset);
  SHARDGPT_REQUIRE(config, "there is no preset " + preset);
  SHARDGPT_REQUIRE(content == "zeros" || content == "random", "content is " + content);
  const TensorTable table(*config);
  const bool random = content == "random";
  H5File file = create_checkpoint_skeleton(path, table, {{"step", 0}}, checksums_of(table, random));
  for (std::size_t i = 0; random && i < table.tensors().size(); ++i) {
    const TensorSpec& tensor = table.tensors()[i];
    for (const StateKind kind : state_kinds) {
      const std::string dataset =
          layout::unit_dataset(table.units()[static_cast<std::size_t>(tensor.unit)].name, kind);
      generate(i, tensor.elements, kind, [&](std::int64_t begin, std::span<const float> values) {
        file.write_floats(dataset, tensor.offset + begin, values);
      });
    }
  }
  file.close();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    SHARDGPT_REQUIRE(argc == 4, "usage: make_checkpoint PRESET FILE zeros|random");
    make_checkpoint(argv[1], argv[2], argv[3]);
    return 0;
  } catch (const std::exception& error) {
    log_error(error.what());
    return 1;
  }
}
