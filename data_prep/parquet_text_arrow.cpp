#include <algorithm>
#include <memory>
#include <utility>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <fmt/format.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/properties.h>

#include "core/error.hpp"
#include "data_prep/parquet_text.hpp"

namespace shardgpt {
namespace {

constexpr std::int64_t rows_at_once = 1024;

void require_ok(const arrow::Status& status, const std::string& file) {
  SHARDGPT_REQUIRE(status.ok(), "cannot read the Parquet file " + file + ": " + status.ToString());
}

template <class T>
T take(arrow::Result<T> result, const std::string& file) {
  require_ok(result.status(), file);
  return std::move(result).ValueUnsafe();
}

/// Whether values of the type are text; of a dictionary, whether its entries are.
bool is_text(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW:
      return true;
    case arrow::Type::DICTIONARY:
      return is_text(*static_cast<const arrow::DictionaryType&>(type).value_type());
    default:
      return false;
  }
}

std::string_view text_at(const arrow::Array& array, std::int64_t row) {
  switch (array.type_id()) {
    case arrow::Type::STRING:
      return static_cast<const arrow::StringArray&>(array).GetView(row);
    case arrow::Type::LARGE_STRING:
      return static_cast<const arrow::LargeStringArray&>(array).GetView(row);
    case arrow::Type::STRING_VIEW:
      return static_cast<const arrow::StringViewArray&>(array).GetView(row);
    default: {
      const auto& dictionary = static_cast<const arrow::DictionaryArray&>(array);
      return text_at(*dictionary.dictionary(), dictionary.GetValueIndex(row));
    }
  }
}

/// A null may stand in the row or, in a dictionary, in the entry that the row names.
bool is_null_at(const arrow::Array& array, std::int64_t row) {
  if (array.IsNull(row)) {
    return true;
  }
  if (array.type_id() != arrow::Type::DICTIONARY) {
    return false;
  }
  const auto& dictionary = static_cast<const arrow::DictionaryArray&>(array);
  return dictionary.dictionary()->IsNull(dictionary.GetValueIndex(row));
}

/// Parquet's own exceptions become InputError.
template <class Work>
auto guarded(const std::string& file, Work&& work) {
  try {
    return work();
  } catch (const parquet::ParquetException& error) {
    throw InputError("cannot read the Parquet file " + file + ": " + error.what());
  }
}

class TextColumn {
 public:
  TextColumn(std::string file, const std::string& column) : file_(std::move(file)) {
    parquet::ReaderProperties properties;
    properties.enable_buffered_stream();  // else a whole row group is read at once
    parquet::ArrowReaderProperties arrow_properties;
    arrow_properties.set_batch_size(rows_at_once);
    arrow_properties.set_pre_buffer(false);
    arrow_properties.set_use_threads(false);
    parquet::arrow::FileReaderBuilder builder;
    require_ok(builder.Open(take(arrow::io::ReadableFile::Open(file_), file_), properties), file_);
    builder.properties(arrow_properties);
    reader_ = take(builder.Build(), file_);
    std::shared_ptr<arrow::Schema> schema;
    require_ok(reader_->GetSchema(&schema), file_);
    const std::string shown = ". Its schema: " + one_line(schema->ToString(/*show_metadata=*/false));
    const std::vector<int> fields = schema->GetAllFieldIndices(column);
    SHARDGPT_REQUIRE(!fields.empty(), file_ + " has no column '" + column + "' (--text-column)" + shown);
    SHARDGPT_REQUIRE(fields.size() == 1,
                     fmt::format("{} has {} columns '{}'{}", file_, fields.size(), column, shown));
    const arrow::Field& field = *schema->field(fields.front());
    SHARDGPT_REQUIRE(is_text(*field.type()), file_ + ": column '" + column + "' is of type " +
                                                 field.type()->ToString() + ", wanted text (--text-column)" +
                                                 shown);
    column_ = reader_->parquet_reader()->metadata()->schema()->ColumnIndex(column);
  }

  void check_codecs() const {
    const auto metadata = reader_->parquet_reader()->metadata();
    for (int group = 0; group < metadata->num_row_groups(); ++group) {
      const auto codec = metadata->RowGroup(group)->ColumnChunk(column_)->compression();
      SHARDGPT_REQUIRE(codec == arrow::Compression::UNCOMPRESSED || arrow::util::Codec::IsAvailable(codec),
                       file_ + " is compressed with " + arrow::util::Codec::GetCodecAsString(codec) +
                           ", which the Arrow library of this build cannot unpack");
    }
  }

  void read(const ConsumeRow& consume) const {
    const auto metadata = reader_->parquet_reader()->metadata();
    std::vector<int> groups(static_cast<std::size_t>(metadata->num_row_groups()));
    for (std::size_t i = 0; i < groups.size(); ++i) {
      groups[i] = static_cast<int>(i);
    }
    const auto batches = take(reader_->GetRecordBatchReader(groups, {column_}), file_);
    std::int64_t rows = 0;
    while (const std::shared_ptr<arrow::RecordBatch> batch = take(batches->Next(), file_)) {
      const arrow::Array& array = *batch->column(0);
      for (std::int64_t row = 0; row < array.length(); ++row) {
        consume(is_null_at(array, row) ? std::nullopt : std::optional(text_at(array, row)),
                metadata->num_rows());
      }
      rows += array.length();
    }
    SHARDGPT_REQUIRE(rows == metadata->num_rows(),
                     fmt::format("{} gave {} rows, its metadata says {}", file_, rows, metadata->num_rows()));
  }

 private:
  static std::string one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ';');
    return text;
  }

  std::string file_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  int column_ = 0;
};

}  // namespace

ParquetSupport parquet_support() {
  return {true, "Apache Arrow " ARROW_VERSION_STRING};
}

void check_parquet(const std::string& file, const std::string& column) {
  guarded(file, [&] { TextColumn(file, column).check_codecs(); });
}

void read_parquet_text(const std::string& file, const std::string& column, const ConsumeRow& consume) {
  guarded(file, [&] { TextColumn(file, column).read(consume); });
}

}  // namespace shardgpt
