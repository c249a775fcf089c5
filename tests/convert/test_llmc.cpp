#include <cstring>
#include <fstream>
#include <numeric>

#include <boost/test/unit_test.hpp>

#include "checkpoints/convert_command.hpp"
#include "checkpoints/llmc_format.hpp"
#include "checkpoints/llmc_model.hpp"
#include "checkpoints/weight_source.hpp"
#include "core/atomic_file.hpp"
#include "hf_folder.hpp"

using namespace shardgpt;

namespace {

/// Bytes of an llm.c file, put together here from the description of the format, not with the code under
/// test.
class LlmcFile {
 public:
  explicit LlmcFile(bool bf16) : bf16_(bf16), config_(HfFolder().table.config()) {
    const std::int32_t words[8] = {20240326, bf16 ? 5 : 3, 6, 11, 2, 2, 4, 128};
    bytes_.assign(1024, '\0');
    std::memcpy(bytes_.data(), words, sizeof words);
    const TensorTable table(config_);
    add_table("transformer.wte.weight", 128 - 11);
    add_table("transformer.wpe.weight", 0);
    for (const char* name : {"ln_1.weight", "ln_1.bias", "attn.c_attn.weight", "attn.c_attn.bias",
                             "attn.c_proj.weight", "attn.c_proj.bias", "ln_2.weight", "ln_2.bias",
                             "mlp.c_fc.weight", "mlp.c_fc.bias", "mlp.c_proj.weight", "mlp.c_proj.bias"}) {
      for (int layer = 0; layer < 2; ++layer) {
        add_linear(table.tensor("transformer.h." + std::to_string(layer) + "." + name));
      }
    }
    add_table("transformer.ln_f.weight", 0);
    add_table("transformer.ln_f.bias", 0);
  }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  void set_word(std::size_t index, std::int32_t value) {
    std::memcpy(bytes_.data() + index * 4, &value, sizeof value);
  }

  /// A value that bfloat16 holds, unlike any other of its tensor.
  static float value(const TensorSpec& tensor, std::int64_t element) {
    return static_cast<float>(element % 128 + static_cast<std::int64_t>(tensor.name.size())) *
           (element < 128 ? 1.0F : -0.25F);
  }

 private:
  void add(float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    for (int shift = bf16_ ? 16 : 0; shift < 32; shift += 8) {
      bytes_ += static_cast<char>(bits >> shift & 0xffU);
    }
  }
  void add_table(const char* name, std::int64_t pad_rows) {
    const TensorTable table(config_);
    const TensorSpec& tensor = table.tensor(name);
    for (std::int64_t i = 0; i < tensor.elements; ++i) {
      add(value(tensor, i));
    }
    for (std::int64_t i = 0; i < pad_rows * config_.embd; ++i) {
      add(0);
    }
  }
  void add_linear(const TensorSpec& tensor) {
    const std::int64_t rows = tensor.shape[0];
    const std::int64_t cols = tensor.shape.size() == 2 ? tensor.shape[1] : 1;
    for (std::int64_t col = 0; col < cols; ++col) {
      for (std::int64_t row = 0; row < rows; ++row) {
        add(value(tensor, row * cols + col));
      }
    }
  }

  bool bf16_;
  ModelConfig config_;
  std::string bytes_;
};

struct Llmc : TestFolder {
  std::ostringstream out;
  std::filesystem::path file = path / "model.bin";

  std::string error(const std::string& content) const {
    write_file_atomically(file, content);
    return error_of([&] { const LlmcModel model(file); });
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(llmc, Llmc)

BOOST_AUTO_TEST_CASE(every_value_is_read_where_it_belongs) {
  for (const bool bf16 : {false, true}) {
    write_file_atomically(file, LlmcFile(bf16).bytes());
    const auto source = open_weight_source(file);
    ModelConfig wanted = HfFolder().table.config();
    wanted.bos_token = wanted.eos_token = 10;  // the file has none: the last of the vocabulary
    BOOST_TEST((source->table().config() == wanted));
    std::vector<float> values;
    for (const TensorSpec& tensor : source->table().tensors()) {
      BOOST_TEST((source->type_of(tensor) == (bf16 ? WeightType::bf16 : WeightType::f32)));
      read_tensor(*source, tensor, values);
      BOOST_TEST_REQUIRE(static_cast<std::int64_t>(values.size()) == tensor.elements);
      for (std::int64_t i = 0; i < tensor.elements; ++i) {
        BOOST_TEST_REQUIRE(values[static_cast<std::size_t>(i)] == LlmcFile::value(tensor, i), tensor.name);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(there_and_back_is_bit_exact) {
  for (const bool bf16 : {false, true}) {
    const std::string bytes = LlmcFile(bf16).bytes();
    write_file_atomically(file, bytes);
    import_from_llmc({file, path / "a.h5", /*overwrite=*/true}, out);
    export_to_llmc(
        {path / "a.h5", path / "again.bin", bf16 ? WeightType::bf16 : WeightType::f32, /*overwrite=*/true},
        out);
    BOOST_TEST((read_text_file(path / "again.bin") == bytes));
  }
}

BOOST_AUTO_TEST_CASE(files_that_lie_are_refused) {
  const LlmcFile good(false);
  struct Case {
    std::size_t word;
    std::int32_t value;
    const char* wanted;
  };
  for (const Case& each :
       {Case{0, 20240520, "starts with 20240520, wanted the magic number 20240326"},
        Case{1, 1, "version 1 at byte 4, wanted 3 (float32) or 5 (bfloat16)"}, Case{1, 4, "version 4"},
        Case{2, 0, "number of positions is 0"}, Case{2, 7, "bytes, its header wants"},
        Case{3, -1, "vocabulary size is -1"}, Case{4, 1 << 30, "number of layers is 1073741824"},
        Case{4, 16'384, "the file is cut short"}, Case{5, 3, "not divisible"},
        Case{6, 1 << 20, "the file is cut short"},
        Case{7, 10, "padded vocabulary size is 10 at byte 28, the vocabulary size 11"},
        Case{7, 127, "the file is too long"}, Case{7, 0x7fffffff, "the file is cut short"}}) {
    LlmcFile bad(false);
    bad.set_word(each.word, each.value);
    const std::string found = error(bad.bytes());
    BOOST_TEST(has(found, each.wanted), found);
    BOOST_TEST(has(found, "model.bin"), found);
  }
  BOOST_TEST(has(error(good.bytes() + "x"), "the file is too long"));
  BOOST_TEST(has(error(good.bytes().substr(0, good.bytes().size() - 1)), "the file is cut short"));
  BOOST_TEST(has(error(good.bytes().substr(0, 1024)), "the file is cut short"));
  BOOST_TEST(has(error(good.bytes().substr(0, 1023)), "cut short: 1023 bytes, the header has 1024"));
  BOOST_TEST(has(error("abc"), "starts with nothing"));
  BOOST_TEST(has(error(""), "starts with nothing"));
  BOOST_TEST(error(good.bytes()).empty());
}

// All sizes at their limits: no overflow on the way to the comparison with the file's size.
BOOST_AUTO_TEST_CASE(largest_sizes_do_not_overflow) {
  LlmcFile huge(true);
  huge.set_word(2, 1 << 24);
  huge.set_word(3, 1 << 24);
  huge.set_word(4, 1 << 14);
  huge.set_word(5, 1 << 20);
  huge.set_word(6, 1 << 20);
  huge.set_word(7, 0x7fffffff);
  BOOST_TEST(has(error(huge.bytes()), "the file is cut short"));
}

BOOST_AUTO_TEST_CASE(what_llmc_does_not_compute_is_not_written) {
  ModelConfig config = HfFolder().table.config();
  BOOST_TEST(llmc_header_of(config, WeightType::f32).padded_vocab == 128);
  config.vocab = 50257;
  BOOST_TEST(llmc_header_of(config, WeightType::f32).padded_vocab == 50304);
  BOOST_TEST(has(error_of([&] { (void)llmc_header_of(config, WeightType::f16); }), "not float16"));
  config.layer_norm_epsilon = 1e-6;
  BOOST_TEST(has(error_of([&] { (void)llmc_header_of(config, WeightType::f32); }), "layer-norm epsilon"));
}

BOOST_AUTO_TEST_CASE(transposing_any_shape) {
  for (const auto& [rows, cols] :
       {std::pair<std::int64_t, std::int64_t>(1, 1), {1, 70}, {70, 1}, {33, 64}, {64, 97}}) {
    std::vector<float> from(static_cast<std::size_t>(rows * cols));
    std::iota(from.begin(), from.end(), 0.0F);
    std::vector<float> to(from.size(), -1.0F);
    transpose(from, rows, cols, to);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t col = 0; col < cols; ++col) {
        BOOST_TEST_REQUIRE(to[static_cast<std::size_t>(col * rows + row)] ==
                           from[static_cast<std::size_t>(row * cols + col)]);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
