#include "data_prep/input_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/error.hpp"

namespace shardgpt {

InputFormat InputFile::format_for(const std::string& name, InputFormat format) {
  if (format != InputFormat::automatic) {
    return format;
  }
  const std::string extension = std::filesystem::path(name).extension().string();
  SHARDGPT_REQUIRE(extension != ".json",
                   name +
                       ": a .json file may be JSONL or one document; pass --format jsonl or "
                       "--format text");
  return extension == ".jsonl" || extension == ".ndjson" ? InputFormat::jsonl : InputFormat::text;
}

void InputFile::Closer::operator()(std::FILE* file) const {
  if (file != stdin) {
    std::fclose(file);  // read only: nothing can be lost
  }
}

InputFile::InputFile(std::string name, InputFormat format)
    : name_(std::move(name)), format_(format_for(name_, format)) {
  if (name_ == "-") {
    file_.reset(stdin);
  } else {
    std::error_code ignored;
    SHARDGPT_REQUIRE(!std::filesystem::is_directory(name_, ignored),
                     name_ + " is a folder; name the files in it");
    file_.reset(std::fopen(name_.c_str(), "rb"));
    SHARDGPT_REQUIRE(file_ != nullptr, "cannot open " + name_ + ": " + std::strerror(errno));
  }
  if (format == InputFormat::automatic) {
    refuse_packed_formats();
  }
}

void InputFile::refuse_packed_formats() {
  start_.resize(4);
  start_.resize(std::fread(start_.data(), 1, start_.size(), file_.get()));
  const auto starts_with = [&](std::string_view prefix) {
    return std::string_view(start_).starts_with(prefix);
  };
  SHARDGPT_REQUIRE(!starts_with("PAR1"),
                   name_ +
                       " is a Parquet file, which this program does not read; write it as "
                       "JSONL first (pandas: to_json(orient='records', lines=True))");
  SHARDGPT_REQUIRE(
      !starts_with("\x1f\x8b"),
      name_ + " is compressed with gzip; pipe it in: zcat FILE | shardgpt-prep encode --format text ... -");
  SHARDGPT_REQUIRE(
      !starts_with("\x28\xb5\x2f\xfd"),
      name_ +
          " is compressed with zstd; pipe it in: zstdcat FILE | shardgpt-prep encode --format text ... -");
}

bool InputFile::read(std::string& out, std::size_t bytes) {
  const std::size_t before = out.size();
  const std::size_t from_start = std::min(bytes, start_.size());
  out.append(start_, 0, from_start);
  start_.erase(0, from_start);
  out.resize(before + bytes);
  const std::size_t got =
      from_start + std::fread(out.data() + before + from_start, 1, bytes - from_start, file_.get());
  out.resize(before + got);
  if (std::ferror(file_.get()) != 0) {
    throw Error("cannot read " + name_ + ": " + std::strerror(errno));
  }
  bytes_read_ += static_cast<std::int64_t>(got);
  return got != 0;
}

}  // namespace shardgpt
