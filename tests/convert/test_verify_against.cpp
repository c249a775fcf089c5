#include <algorithm>
#include <fstream>

#include <boost/test/unit_test.hpp>

#include "checkpoints/convert_command.hpp"
#include "checkpoints/model_difference.hpp"
#include "core/atomic_file.hpp"
#include "core/error.hpp"
#include "hf/safetensors_writer.hpp"
#include "hf_folder.hpp"

using namespace shardgpt;

namespace {

const std::filesystem::path reference = std::filesystem::path(SHARDGPT_TEST_REFERENCE_DIR) / "tiny-a";

using Change = std::function<void(const TensorSpec& tensor, std::vector<float>& values)>;

/// A checkpoint of the reference, and folders of it that a test has changed.
struct Against : TestFolder {
  std::ostringstream out;
  VerifyOptions options;

  Against() {
    options.checkpoint = path / "a.h5";
    options.against = path / "hf";
    import_from_hf({{reference, options.checkpoint}}, out);
  }

  /// Writes the reference with every tensor passed through `change`, stored as `type`.
  void write_changed(const Change& change, WeightType type = WeightType::f32) const {
    std::filesystem::remove_all(options.against);
    std::filesystem::create_directory(options.against);
    std::filesystem::copy_file(reference / "config.json", options.against / "config.json");
    const auto source = open_weight_source(reference);
    std::vector<SafetensorsTensor> tensors;
    for (const TensorSpec& tensor : source->table().tensors()) {
      tensors.push_back({tensor.name, tensor.shape, tensor.elements});
    }
    SafetensorsWriter writer(options.against / "model.safetensors", type, tensors);
    std::vector<float> values;
    for (const TensorSpec& tensor : source->table().tensors()) {
      read_tensor(*source, tensor, values);
      change(tensor, values);
      writer.append(tensor.name, values);
    }
    writer.finish();
  }

  std::string error() {
    return error_of([&] { verify_checkpoint(options, out); });
  }
};

void transpose_square(std::vector<float>& values, std::size_t side) {
  for (std::size_t row = 0; row < side; ++row) {
    for (std::size_t col = 0; col < row; ++col) {
      std::swap(values[row * side + col], values[col * side + row]);
    }
  }
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(verify_against, Against)

BOOST_AUTO_TEST_CASE(the_same_weights_compute_the_same_in_every_form) {
  const Change none = [](const TensorSpec&, std::vector<float>&) {};
  for (const WeightType type : {WeightType::f32, WeightType::bf16, WeightType::f16}) {
    write_changed(none, type);  // the checkpoint is rounded alike before the comparison
    BOOST_TEST(error() == "");
    BOOST_TEST(has(out.str(), "16 x 512 logits is 0 "));
  }
  options.against = path / "a.bin";
  export_to_llmc({options.checkpoint, options.against, WeightType::bf16, false}, out);
  BOOST_TEST(error() == "");
}

// H06: right in shape, wrong in content.
BOOST_AUTO_TEST_CASE(a_transposed_square_matrix_is_found_and_named) {
  write_changed([](const TensorSpec& tensor, std::vector<float>& values) {
    if (tensor.name == "transformer.h.1.attn.c_proj.weight") {
      transpose_square(values, 64);
    }
  });
  const std::string found = error();
  BOOST_TEST(has(found, "is not the model of"), found);
  BOOST_TEST(has(found, "; transformer.h.1.attn.c_proj.weight is transposed"), found);
  BOOST_TEST(has(found, "(limit 0.0001;"), found);
  BOOST_CHECK_THROW(verify_checkpoint(options, out), Error);
  options.limit = 10;
  BOOST_TEST(error() == "");
}

BOOST_AUTO_TEST_CASE(differences_above_the_limit_are_named_and_those_below_are_not) {
  write_changed([](const TensorSpec& tensor, std::vector<float>& values) {
    if (tensor.name == "transformer.h.0.ln_1.bias") {
      values[3] += 0.5F;
    }
  });
  const std::string found = error();
  BOOST_TEST(has(found, "; transformer.h.0.ln_1.bias differs by up to 0.5"), found);
  BOOST_TEST(!has(found, "c_proj"), found);
  write_changed([](const TensorSpec& tensor, std::vector<float>& values) {
    if (tensor.name == "transformer.h.0.ln_1.bias") {
      values[3] += 1e-7F;
    }
  });
  BOOST_TEST(error() == "");
  write_changed([](const TensorSpec& /*tensor*/, std::vector<float>& values) { values[0] += 1.0F; });
  BOOST_TEST(has(error(), "and 18 more tensors"));
}

BOOST_AUTO_TEST_CASE(a_value_that_is_no_number_is_a_difference) {
  write_changed([](const TensorSpec& tensor, std::vector<float>& values) {
    if (tensor.name == "transformer.ln_f.bias") {
      values[0] = std::numeric_limits<float>::quiet_NaN();
    }
  });
  BOOST_TEST(has(error(), "logits is inf"));
}

BOOST_AUTO_TEST_CASE(other_models_and_broken_folders_are_named) {
  HfFolder().write(options.against);
  BOOST_TEST(has(error(), "is of another model than"));
  BOOST_TEST(has(error(), "embd is 4, wanted 64"));
  write_changed([](const TensorSpec&, std::vector<float>&) {});
  std::filesystem::resize_file(options.against / "model.safetensors", 100'000);
  BOOST_TEST(has(error(), "model.safetensors"));
  options.against = path / "missing";
  BOOST_TEST(has(error(), "missing: no such file"));
  options.tokens = 0;
  BOOST_TEST(has(error(), "--tokens is 0"));
}

BOOST_AUTO_TEST_CASE(one_token_and_all_positions) {
  write_changed([](const TensorSpec&, std::vector<float>&) {});
  for (const std::int64_t tokens : {1, 64, 1000}) {
    options.tokens = tokens;
    BOOST_TEST(error() == "");
  }
  BOOST_TEST(has(out.str(), "64 x 512 logits"));
}

BOOST_AUTO_TEST_SUITE_END()
