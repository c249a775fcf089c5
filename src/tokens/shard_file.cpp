#include "tokens/shard_file.hpp"

#include <algorithm>

namespace shardgpt {

ShardFile::ShardFile(const std::filesystem::path& path, WideIds wide_ids)
    : path_(path), file_(path), header_(parse_shard_header(file_.bytes(), path, wide_ids)) {}

template <class Visit>
auto ShardFile::with_ids(std::int64_t offset, std::size_t count, Visit&& visit) const {
  const auto visit_whole = [&](auto ids) {
    file_.require_whole(path_);
    auto result = visit(ids);
    file_.require_whole(path_);  // else what was read may be zeros
    return result;
  };
  // The header's 1024 bytes keep the ids aligned within the page-aligned mapping.
  const std::byte* const ids = file_.bytes().data() + shard_header_bytes;
  return header_.type == TokenType::u16
             ? visit_whole(std::span(reinterpret_cast<const std::uint16_t*>(ids) + offset, count))
             : visit_whole(std::span(reinterpret_cast<const std::uint32_t*>(ids) + offset, count));
}

std::uint32_t ShardFile::read(std::int64_t offset, std::span<std::int32_t> out) const {
  return with_ids(offset, out.size(), [&](auto ids) {
    std::uint32_t largest = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::uint32_t id = ids[i];
      largest = std::max(largest, id);
      out[i] = static_cast<std::int32_t>(id);
    }
    return largest;
  });
}

std::int64_t ShardFile::largest_id(std::int64_t offset, std::int64_t count) const {
  return with_ids(offset, static_cast<std::size_t>(count), [](auto ids) {
    const auto largest = std::max_element(ids.begin(), ids.end());
    return largest == ids.end() ? std::int64_t{-1} : static_cast<std::int64_t>(*largest);
  });
}

std::int64_t ShardFile::find_id_from(std::int64_t limit, std::int64_t offset, std::int64_t count) const {
  return with_ids(offset, static_cast<std::size_t>(count), [&](auto ids) {
    const auto found = std::find_if(ids.begin(), ids.end(), [&](auto id) { return id >= limit; });
    return found == ids.end() ? std::int64_t{-1} : offset + (found - ids.begin());
  });
}

}  // namespace shardgpt
