#include "tokens/shard_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <xxhash.h>

#include "core/atomic_file.hpp"
#include "core/checked.hpp"
#include "core/error.hpp"
#include "core/log.hpp"

namespace shardgpt {

std::string hash_file(const std::filesystem::path& path) {
  // Read in pieces: a mapped shard would count as memory of this process, all of it.
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw Error(fmt::format("cannot open {}: {}", path.string(), std::strerror(errno)));
  }
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              &XXH3_freeState);
  if (state == nullptr || XXH3_64bits_reset(state.get()) != XXH_OK) {
    throw Error("cannot set up the hash of " + path.string());
  }
  std::vector<char> piece(std::size_t{1} << 20U);
  while (file.read(piece.data(), narrow<std::streamsize>(piece.size())) || file.gcount() > 0) {
    XXH3_64bits_update(state.get(), piece.data(), narrow<std::size_t>(file.gcount()));
  }
  if (file.bad()) {
    throw Error(fmt::format("cannot read {}: {}", path.string(), std::strerror(errno)));
  }
  return fmt::format("{:016x}", XXH3_64bits_digest(state.get()));
}

ShardWriter::ShardWriter(std::filesystem::path path, TokenType type)
    : path_(std::move(path)),
      temporary_(path_.string() + ".tmp"),
      type_(type),
      file_(temporary_, std::ios::binary | std::ios::trunc) {
  if (!file_) {
    throw Error(fmt::format("cannot create {}: {}", temporary_.string(), std::strerror(errno)));
  }
  const std::string space_for_header(static_cast<std::size_t>(shard_header_bytes), '\0');
  file_.write(space_for_header.data(), shard_header_bytes);
}

ShardWriter::~ShardWriter() {
  if (published_) {
    return;
  }
  std::error_code failure;
  std::filesystem::remove(temporary_, failure);
  if (failure) {
    log_error("cannot remove " + temporary_.string() + ": " + failure.message());
  }
}

void ShardWriter::append(std::span<const std::int32_t> ids) {
  if (ids.empty()) {
    return;
  }
  const auto [smallest, largest] = std::minmax_element(ids.begin(), ids.end());
  SHARDGPT_REQUIRE(*smallest >= 0 && (type_ == TokenType::u32 || *largest < max_u16_vocab_size),
                   fmt::format("token id {} does not fit the {} ids of {}",
                               *smallest < 0 ? *smallest : *largest, token_type_name(type_), path_.string()));
  largest_id_ = std::max<std::int64_t>(largest_id_, *largest);
  tokens_ += narrow<std::int64_t>(ids.size());
  SHARDGPT_REQUIRE(tokens_ <= max_shard_tokens,
                   fmt::format("{}: a shard holds at most {} tokens", path_.string(), max_shard_tokens));
  if (type_ == TokenType::u16) {
    narrow_ids_.assign(ids.begin(), ids.end());
    file_.write(reinterpret_cast<const char*>(narrow_ids_.data()),
                narrow<std::streamsize>(narrow_ids_.size() * sizeof(std::uint16_t)));
  } else {
    file_.write(reinterpret_cast<const char*>(ids.data()), narrow<std::streamsize>(ids.size_bytes()));
  }
  if (!file_) {
    throw Error(fmt::format("cannot write {}: {}", temporary_.string(), std::strerror(errno)));
  }
}

ShardRecord ShardWriter::finish() {
  const std::string header = make_shard_header({type_, tokens_});
  file_.seekp(0);
  file_.write(header.data(), shard_header_bytes);
  file_.close();
  if (!file_) {
    throw Error(fmt::format("cannot write {}: {}", temporary_.string(), std::strerror(errno)));
  }
  sync_file(temporary_);
  return {path_.filename().string(), tokens_, shard_file_bytes(type_, tokens_), largest_id_,
          hash_file(temporary_)};
}

void ShardWriter::publish() {
  rename_durably(temporary_, path_);
  published_ = true;
}

}  // namespace shardgpt
