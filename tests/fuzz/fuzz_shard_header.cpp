// The header of a token shard.
#include <algorithm>
#include <string>

#include "fuzz_target.hpp"
#include "tokens/shard_format.hpp"

using namespace shardgpt;

namespace {

void check(std::span<const std::byte> file, WideIds wide_ids) {
  const ShardHeader header = parse_shard_header(file, "shard.bin", wide_ids);
  fuzz::require(shard_file_bytes(header.type, header.tokens) == static_cast<std::int64_t>(file.size()),
                "an accepted shard has another size than its header says");
  constexpr std::size_t meant_bytes = 12;  // the rest is reserved
  const std::string written = make_shard_header(header);
  fuzz::require(
      std::ranges::equal(std::as_bytes(std::span(written)).first(meant_bytes), file.first(meant_bytes)),
      "a header changes when it is read and written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  fuzz::may_refuse([&] { check(file, WideIds::refuse); });
  fuzz::may_refuse([&] { check(file, WideIds::accept); });
  return 0;
}
