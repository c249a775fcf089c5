#include "data_prep/document_reader.hpp"

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "data_prep/jsonl.hpp"
#include "data_prep/parquet_text.hpp"

namespace shardgpt {

/// Text of one input on its way to the cutter, with the ends of its documents.
class DocumentReader::Stream {
 public:
  Stream(const ReaderOptions& options, PartCutter& cutter)
      : finder_(make_boundary_finder(options.document, options.separator)), cutter_(cutter) {}

  /// Where more text may be appended.
  [[nodiscard]] std::string& text() { return text_; }
  void pass_on() { pass_on(/*at_end=*/false); }
  void finish() {
    pass_on(/*at_end=*/true);
    cutter_.end_document();
  }

 private:
  void pass_on(bool at_end) {
    std::string_view rest = text_;
    const auto take = [&](std::size_t bytes) {
      finder_->consume(rest.substr(0, bytes));
      rest.remove_prefix(bytes);
    };
    while (const auto boundary = finder_->find(rest, at_end)) {
      cutter_.add_text(rest.substr(0, boundary->end));
      cutter_.end_document();
      take(boundary->next);
    }
    const std::size_t decided = at_end ? rest.size() : finder_->decided(rest);
    cutter_.add_text(rest.substr(0, decided));
    take(decided);
    text_.erase(0, text_.size() - rest.size());
  }

  std::unique_ptr<BoundaryFinder> finder_;
  PartCutter& cutter_;
  std::string text_;
};

DocumentReader::DocumentReader(const std::vector<std::string>& files, ReaderOptions options)
    : options_(std::move(options)) {
  for (const std::string& file : expand_folders(files)) {
    check_input(file);
  }
}

void DocumentReader::check_input(const std::string& file) {
  // A pipe gives its bytes once only, so it is opened when its turn comes; files are closed again here, since
  // there may be more of them than a process may have open.
  InputFormat format = InputFile::format_for(file, options_.format);
  if (is_stream(file)) {
    SHARDGPT_REQUIRE(format != InputFormat::parquet,
                     "Parquet is read from its end: save " + file + " as a file");
    total_file_bytes_.reset();
  } else {
    format = InputFile(file, options_.format).format();
    std::error_code ignored;
    const std::uintmax_t size = std::filesystem::file_size(file, ignored);
    if (total_file_bytes_ && !ignored) {
      *total_file_bytes_ += narrow<std::int64_t>(size);
    }
  }
  if (format == InputFormat::parquet) {
    check_parquet(file, options_.text_column);
  }
  sources_.push_back({file, input_format_name(format), 0});
  formats_.push_back(format);
}

void DocumentReader::read(const std::function<void(TextBlock)>& consume) {
  PartCutter cutter(options_.block_bytes, options_.detokenize, consume);
  for (std::size_t source = 0; source < sources_.size(); ++source) {
    SourceRecord& record = sources_[source];
    cutter.begin_source(source);
    if (formats_[source] == InputFormat::parquet) {
      read_rows(record, cutter);
    } else {
      // What a pipe holds is seen only now.
      InputFile input(record.file, is_stream(record.file) ? options_.format : formats_[source]);
      if (formats_[source] == InputFormat::jsonl) {
        read_json_lines(input, cutter);
      } else {
        read_text(input, cutter);
      }
      record.bytes = input.bytes_read();
    }
    file_bytes_before_ += file_bytes_now_;
    file_bytes_now_ = 0;
    if (record.bytes == 0) {
      log_warning(record.file + " is empty (0 bytes) and gives no document");
    }
  }
  cutter.flush();
}

void DocumentReader::read_text(InputFile& input, PartCutter& cutter) {
  Stream stream(options_, cutter);
  while (input.read(stream.text(), options_.block_bytes)) {
    file_bytes_now_ = input.file_bytes_read();
    stream.pass_on();
  }
  stream.finish();
}

void DocumentReader::read_json_lines(InputFile& input, PartCutter& cutter) {
  std::string buffer;
  std::int64_t number = 0;
  std::size_t searched = 0;
  const auto add_line = [&](std::string_view line) {
    ++number;
    if (!is_blank_json_line(line)) {
      cutter.add_json_line(line, number);
    }
  };
  while (input.read(buffer, options_.block_bytes)) {
    file_bytes_now_ = input.file_bytes_read();
    std::size_t begin = 0;
    for (std::size_t end = buffer.find('\n', searched); end != std::string::npos;
         end = buffer.find('\n', begin)) {
      add_line(std::string_view(buffer).substr(begin, end - begin));
      begin = end + 1;
    }
    buffer.erase(0, begin);
    searched = buffer.size();
  }
  if (!buffer.empty()) {
    add_line(buffer);
  }
}

void DocumentReader::read_rows(SourceRecord& record, PartCutter& cutter) {
  std::error_code ignored;
  const auto file_bytes = static_cast<double>(std::filesystem::file_size(record.file, ignored));
  const bool rows_are_lines = options_.document == DocumentPolicy::heading;
  Stream stream(options_, cutter);
  std::int64_t done = 0;
  read_parquet_text(
      record.file, options_.text_column, [&](std::optional<std::string_view> text, std::int64_t rows) {
        ++done;
        file_bytes_now_ =
            static_cast<std::int64_t>(file_bytes * static_cast<double>(done) / static_cast<double>(rows));
        if (!text) {
          ++null_rows_;
          return;
        }
        record.bytes += narrow<std::int64_t>(text->size());
        if (rows_are_lines) {
          // Hugging Face's wikitext has WikiText's lines as rows, and its blank lines as empty rows.
          stream.text() += text->empty() ? std::string_view(" \n") : *text;
          stream.pass_on();
        } else {
          cutter.add_text(*text);
          cutter.end_document();
        }
      });
  stream.finish();
}

std::optional<double> DocumentReader::fraction_read() const {
  if (!total_file_bytes_ || *total_file_bytes_ == 0) {
    return std::nullopt;
  }
  return static_cast<double>(file_bytes_before_ + file_bytes_now_) / static_cast<double>(*total_file_bytes_);
}

}  // namespace shardgpt
