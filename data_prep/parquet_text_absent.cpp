#include "core/error.hpp"
#include "data_prep/parquet_text.hpp"

namespace shardgpt {

ParquetSupport parquet_support() {
  return {false,
          "this build reads no Parquet; build it with Apache Arrow (cmake -D SHARDGPT_ARROW_ROOT=..., "
          "docs/data-format.md says how to get it), or write the file as JSONL (pandas: "
          "to_json(orient='records', lines=True))"};
}

void check_parquet(const std::string& file, const std::string& /*column*/) {
  throw_input_error(file + " is a Parquet file: " + parquet_support().message);
}

void read_parquet_text(const std::string& file, const std::string& column, const ConsumeRow& /*consume*/) {
  check_parquet(file, column);
}

}  // namespace shardgpt
