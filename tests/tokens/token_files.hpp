#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "core/atomic_file.hpp"
#include "core/error.hpp"
#include "tokens/dataset_writer.hpp"
#include "tokens/shard_format.hpp"

namespace shardgpt::testing {

/// A folder of its own for one test, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "shardgpt_test_XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("mkdtemp failed");
    }
    path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) {
    throw std::runtime_error("cannot write " + path.string());
  }
}

/// The bytes of a uint16 shard with these ids.
inline std::string shard_bytes(const std::vector<std::int32_t>& ids) {
  std::string bytes = make_shard_header({TokenType::u16, static_cast<std::int64_t>(ids.size())});
  for (const std::int32_t id : ids) {
    bytes.push_back(static_cast<char>(id & 0xff));
    bytes.push_back(static_cast<char>((id >> 8) & 0xff));
  }
  return bytes;
}

/// first, first + 1, … : ids that tell where they stood.
inline std::vector<std::int32_t> counting(std::int32_t first, std::int32_t count) {
  std::vector<std::int32_t> ids;
  ids.reserve(static_cast<std::size_t>(count));
  for (std::int32_t i = 0; i < count; ++i) {
    ids.push_back(first + i);
  }
  return ids;
}

inline DatasetManifest small_manifest(const std::string& tokenizer_hash = "hash-a",
                                      std::int64_t vocab_size = 50257) {
  DatasetManifest manifest;
  manifest.tokenizer.hash = tokenizer_hash;
  manifest.tokenizer.vocab_size = vocab_size;
  manifest.document_policy = "file";
  return manifest;
}

/// Writes a finished set of `ids`, cut into shards of `shard_tokens`.
inline DatasetManifest write_set(const std::filesystem::path& folder, const std::vector<std::int32_t>& ids,
                                 std::int64_t shard_tokens, const std::string& tokenizer_hash = "hash-a") {
  DatasetWriter writer(folder, "tokens", TokenType::u16, shard_tokens, DatasetWriter::Existing::refuse);
  writer.append(ids);
  return writer.finish(small_manifest(tokenizer_hash));
}

/// A check for BOOST_CHECK_EXCEPTION: the message holds every one of `parts`.
struct Says {
  std::vector<std::string> parts;
  explicit Says(std::vector<std::string> wanted) : parts(std::move(wanted)) {}
  bool operator()(const std::exception& error) const {
    const std::string text = error.what();
    for (const std::string& part : parts) {
      if (text.find(part) == std::string::npos) {
        std::fprintf(stderr, "message lacks '%s': %s\n", part.c_str(), text.c_str());
        return false;
      }
    }
    return true;
  }
};

}  // namespace shardgpt::testing
