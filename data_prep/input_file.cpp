#include "data_prep/input_file.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/checked.hpp"
#include "core/error.hpp"

namespace shardgpt {
namespace {

constexpr std::size_t signature_bytes = 6;

struct Packed {
  std::string_view signature;
  const char* kind;
  const char* unpack;
};

constexpr Packed packed_kinds[] = {
    {"BZh", "compressed with bzip2", "bzcat FILE | shardgpt-prep ... -"},
    {std::string_view("\xfd\x37zXZ\0", 6), "compressed with xz", "xzcat FILE | shardgpt-prep ... -"},
    {"PK\x03\x04", "a zip archive", "unzip FILE"},
};

void add_files_below(const std::string& folder, std::vector<std::string>& names) {
  std::error_code failure;
  std::vector<std::string> found;
  std::filesystem::recursive_directory_iterator entry(folder, failure);
  for (const std::filesystem::recursive_directory_iterator end; !failure && entry != end;
       entry.increment(failure)) {
    const std::filesystem::path& path = entry->path();
    if (path.filename().string().starts_with('.')) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file(failure)) {
      found.push_back(path.string());
    }
  }
  SHARDGPT_REQUIRE(!failure, "cannot list " + folder + ": " + failure.message());
  SHARDGPT_REQUIRE(!found.empty(), "the folder " + folder + " holds no files");
  std::sort(found.begin(), found.end());
  names.insert(names.end(), found.begin(), found.end());
}

}  // namespace

const char* input_format_name(InputFormat format) {
  switch (format) {
    case InputFormat::jsonl:
      return "jsonl";
    case InputFormat::parquet:
      return "parquet";
    case InputFormat::automatic:
    case InputFormat::text:
      break;
  }
  return "text";
}

InputFormat InputFile::format_for(const std::string& name, InputFormat format) {
  if (format != InputFormat::automatic) {
    return format;
  }
  std::filesystem::path path(name);
  if (path.extension() == ".gz" || path.extension() == ".zst") {
    path.replace_extension();
  }
  const std::string extension = path.extension().string();
  SHARDGPT_REQUIRE(extension != ".json",
                   name +
                       ": a .json file may be JSONL or one document; pass --format jsonl or "
                       "--format text");
  return extension == ".jsonl" || extension == ".ndjson" ? InputFormat::jsonl
         : extension == ".parquet"                       ? InputFormat::parquet
                                                         : InputFormat::text;
}

InputFile::InputFile(std::string name, InputFormat format)
    : name_(std::move(name)), format_(format_for(name_, format)), file_(std::make_unique<FileSource>(name_)) {
  recognise_parquet(format);
  const std::string_view start = file_->peek(signature_bytes);
  if (const Compression compression = compression_of(start); compression != Compression::none) {
    SHARDGPT_REQUIRE(format_ != InputFormat::parquet,
                     name_ + " is a compressed file, wanted Parquet; unpack it first");
    unpacked_ = compression == Compression::gzip ? make_gzip_source(*file_) : make_zstd_source(*file_);
  }
  for (const Packed& kind : packed_kinds) {
    SHARDGPT_REQUIRE(
        format != InputFormat::automatic || !start.starts_with(kind.signature),
        name_ + " is " + kind.kind + ", which is not read here; unpack it first: " + kind.unpack);
  }
}

void InputFile::recognise_parquet(InputFormat told) {
  const bool is_parquet = file_->peek(signature_bytes).starts_with("PAR1");
  if (told == InputFormat::automatic && is_parquet) {
    format_ = InputFormat::parquet;
  }
  if (format_ == InputFormat::parquet) {
    SHARDGPT_REQUIRE(!is_stream(name_), "Parquet is read from its end: save it as a file, " + name_ +
                                            " gives its bytes once only");
    SHARDGPT_REQUIRE(is_parquet, name_ + " is no Parquet file: it does not begin with PAR1");
  }
}

bool InputFile::read(std::string& out, std::size_t bytes) {
  const std::size_t before = out.size();
  out.resize(before + bytes);
  ByteSource& source = unpacked_ ? *unpacked_ : *file_;
  const std::size_t got = source.read(out.data() + before, bytes);
  out.resize(before + got);
  bytes_read_ += narrow<std::int64_t>(got);
  return got != 0;
}

bool is_stream(const std::string& name) {
  std::error_code ignored;
  return name == "-" || std::filesystem::is_fifo(name, ignored);
}

std::vector<std::string> expand_folders(const std::vector<std::string>& names) {
  std::vector<std::string> files;
  for (const std::string& name : names) {
    std::error_code ignored;
    if (std::filesystem::is_directory(name, ignored)) {
      add_files_below(name, files);
    } else {
      files.push_back(name);
    }
  }
  return files;
}

}  // namespace shardgpt
