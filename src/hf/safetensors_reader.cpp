#include "hf/safetensors_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "hf/weight_type.hpp"

namespace shardgpt {
namespace {

constexpr std::int64_t length_bytes = 8;
constexpr std::size_t piece_elements = std::size_t{1} << 20;

}  // namespace

SafetensorsReader::SafetensorsReader(std::filesystem::path path)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
  const std::string where = path_.string();
  SHARDGPT_REQUIRE(file_.get() >= 0, "cannot open " + where + ": " + std::strerror(errno));
  struct stat status {};
  SHARDGPT_REQUIRE(::fstat(file_.get(), &status) == 0 && S_ISREG(status.st_mode),
                   where + " is not a regular file");
  const std::int64_t file_bytes = status.st_size;
  SHARDGPT_REQUIRE(file_bytes >= length_bytes,
                   where + ": " + std::to_string(file_bytes) + " bytes are too few for a safetensors file");
  std::uint64_t header_bytes = 0;
  read_bytes(0, std::as_writable_bytes(std::span(&header_bytes, 1)));
  SHARDGPT_REQUIRE(header_bytes <= safetensors_header_limit,
                   where + ": the header says it has " + std::to_string(header_bytes) + " bytes, at most " +
                       std::to_string(safetensors_header_limit) + " are read");
  data_begin_ = length_bytes + narrow<std::int64_t>(header_bytes);
  SHARDGPT_REQUIRE(data_begin_ <= file_bytes, where + ": the header says it has " +
                                                  std::to_string(header_bytes) + " bytes, the file has " +
                                                  std::to_string(file_bytes));
  std::string json(header_bytes, '\0');
  read_bytes(length_bytes, std::as_writable_bytes(std::span(json)));
  header_ = parse_safetensors_header(json, file_bytes - data_begin_, where);
}

void SafetensorsReader::read_bytes(std::int64_t offset, std::span<std::byte> bytes) const {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got =
        ::pread(file_.get(), bytes.data() + done, bytes.size() - done, offset + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      throw Error("cannot read " + path_.string() + ": " + std::strerror(errno));
    }
    SHARDGPT_REQUIRE(got > 0, path_.string() + " was cut short while it was read");
    done += static_cast<std::size_t>(got);
  }
}

void SafetensorsReader::read(const SafetensorsEntry& entry, std::int64_t begin,
                             std::span<float> values) const {
  const auto type = weight_type_of(entry.dtype);
  SHARDGPT_REQUIRE(
      type, path_.string() + ": tensor " + entry.name + " is " + entry.dtype + ", wanted F32, BF16 or F16");
  SHARDGPT_EXPECT(begin >= 0 && begin <= entry.elements - static_cast<std::int64_t>(values.size()));
  const auto width = static_cast<std::int64_t>(weight_type_bytes(*type));
  const std::int64_t first = data_begin_ + entry.begin + begin * width;
  if (type == WeightType::f32) {
    read_bytes(first, std::as_writable_bytes(values));
    return;
  }
  std::vector<std::byte> raw(std::min(piece_elements, values.size()) * static_cast<std::size_t>(width));
  for (std::size_t done = 0; done < values.size(); done += piece_elements) {
    const auto piece = values.subspan(done, std::min(piece_elements, values.size() - done));
    const auto bytes = std::span(raw).first(piece.size() * static_cast<std::size_t>(width));
    read_bytes(first + static_cast<std::int64_t>(done) * width, bytes);
    decode_weights(*type, bytes, piece);
  }
}

}  // namespace shardgpt
