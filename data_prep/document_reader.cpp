#include "data_prep/document_reader.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include "core/log.hpp"
#include "data_prep/jsonl.hpp"

namespace shardgpt {
namespace {

constexpr std::size_t read_bytes = std::size_t{1} << 20U;
constexpr std::size_t block_bytes = std::size_t{1} << 20U;
constexpr const char* jsonl_name = "jsonl";

}  // namespace

DocumentReader::DocumentReader(const std::vector<std::string>& files, InputFormat format,
                               DocumentPolicy policy)
    : policy_(policy) {
  for (const std::string& file : files) {
    // A pipe gives its bytes once only, so it is opened when its turn comes; files are closed again here,
    // since there may be more of them than a process may have open.
    std::error_code ignored;
    const bool is_stream = file == "-" || std::filesystem::is_fifo(file, ignored);
    const InputFormat known =
        is_stream ? InputFile::format_for(file, format) : InputFile(file, format).format();
    sources_.push_back({file, known == InputFormat::jsonl ? jsonl_name : "text", 0});
  }
}

void DocumentReader::read(const std::function<void(TextBlock)>& consume) {
  consume_ = &consume;
  for (std::size_t source = 0; source < sources_.size(); ++source) {
    SourceRecord& record = sources_[source];
    InputFile input(record.file, record.format == jsonl_name ? InputFormat::jsonl : InputFormat::text);
    if (input.format() == InputFormat::jsonl || policy_ == DocumentPolicy::line) {
      read_lines(input, source);
    } else {
      read_text(input, source);
    }
    record.bytes = input.bytes_read();
    if (record.bytes == 0) {
      log_warning(record.file + " is empty (0 bytes) and gives no document");
    }
  }
  flush();
}

void DocumentReader::read_text(InputFile& input, std::size_t source) {
  std::string buffer;
  std::size_t searched = 0;  // no cut before this place
  bool any = false;
  while (input.read(buffer, read_bytes)) {
    any = true;
    const std::size_t cut = splitter_.last_safe_cut(buffer, searched);
    if (cut != 0) {
      add_part(std::string_view(buffer).substr(0, cut),
               {.document = next_document_, .ends_document = false, .source = source});
      buffer.erase(0, cut);
    }
    // A cut needs the character before it, so the last byte is looked at again.
    searched = buffer.size();
  }
  if (any) {
    add_part(buffer, {.document = next_document_++, .source = source});
  }
}

void DocumentReader::read_lines(InputFile& input, std::size_t source) {
  std::string buffer;
  std::int64_t number = 0;
  std::size_t searched = 0;
  while (input.read(buffer, read_bytes)) {
    std::size_t begin = 0;
    for (std::size_t end = buffer.find('\n', searched); end != std::string::npos;
         end = buffer.find('\n', begin)) {
      add_line(std::string_view(buffer).substr(begin, end - begin), input.format(), source, ++number);
      begin = end + 1;
    }
    buffer.erase(0, begin);
    searched = buffer.size();
  }
  if (!buffer.empty()) {
    add_line(buffer, input.format(), source, ++number);
  }
}

void DocumentReader::add_line(std::string_view line, InputFormat format, std::size_t source,
                              std::int64_t number) {
  if (format == InputFormat::text && line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  if (format == InputFormat::jsonl ? is_blank_json_line(line) : line.empty()) {
    return;
  }
  add_part(line, {.document = next_document_++, .format = format, .source = source, .line = number});
}

void DocumentReader::add_part(std::string_view text, TextPart part) {
  part.begin = block_.bytes.size();
  part.size = text.size();
  block_.bytes += text;
  block_.parts.push_back(part);
  if (block_.bytes.size() >= block_bytes) {
    flush();
  }
}

void DocumentReader::flush() {
  if (!block_.parts.empty()) {
    (*consume_)(std::exchange(block_, {}));
  }
}

}  // namespace shardgpt
