#include <fstream>

#include <boost/test/unit_test.hpp>

#include "hf/hf_model.hpp"
#include "hf_folder.hpp"

using namespace shardgpt;

namespace {

struct ModelFolder : TestFolder, HfFolder {
  using TestFolder::path;

  /// The error of opening the folder as it stands now.
  std::string error(ExtraVocabRows extra = ExtraVocabRows::refuse) const {
    write(path);
    return error_of([&] { const HfModel model(path, extra); });
  }

  /// Whether every value read is the one HfFolder made.
  bool reads_right() const {
    write(path);
    return reads_right_as_it_stands();
  }
  bool reads_right_as_it_stands() const {
    const HfModel model(path);
    for (std::size_t i = 0; i < table.tensors().size(); ++i) {
      const TensorSpec& tensor = table.tensors()[i];
      std::vector<float> values(static_cast<std::size_t>(tensor.elements));
      model.read(tensor, 0, values);
      for (std::int64_t element = 0; element < tensor.elements; ++element) {
        if (values[static_cast<std::size_t>(element)] != raw_value(i, element)) {
          return false;
        }
      }
    }
    return true;
  }

  void rename(const std::string& from, const std::string& to) {
    auto node = tensors.extract(from);
    node.key() = to;
    tensors.insert(std::move(node));
  }
  void drop_prefix(std::size_t every) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : tensors) {
      names.push_back(name);
    }
    for (std::size_t i = 0; i < names.size(); i += every) {
      rename(names[i], names[i].substr(std::string("transformer.").size()));
    }
  }
  RawTensor& embedding() { return tensors.at("transformer.wte.weight"); }
};

/// Splits the tensors over two files with an index.
void write_sharded(const ModelFolder& folder, nlohmann::json& index) {
  folder.write(folder.path);
  std::filesystem::remove(folder.path / "model.safetensors");
  RawTensors first;
  RawTensors second;
  for (const auto& [name, tensor] : folder.tensors) {
    const bool early = name < "transformer.h.1";
    (early ? first : second)[name] = tensor;
    index["weight_map"][name] = early ? "part-1.safetensors" : "part-2.safetensors";
  }
  write_tensors(folder.path / "part-1.safetensors", first);
  write_tensors(folder.path / "part-2.safetensors", second);
}

void write_index(const ModelFolder& folder, const nlohmann::json& index) {
  std::ofstream(folder.path / "model.safetensors.index.json") << index.dump();
}

std::string indexed_error(const ModelFolder& folder, const nlohmann::json& index) {
  write_index(folder, index);
  return error_of([&] { const HfModel model(folder.path); });
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(hf_model, ModelFolder)

// H02
BOOST_AUTO_TEST_CASE(names_with_without_and_partly_with_the_prefix) {
  BOOST_TEST(reads_right());
  drop_prefix(2);
  BOOST_TEST(reads_right());
  embedding();
  tensors["wte.weight"] = embedding();
  BOOST_TEST(has(error(), "comes twice"));
  tensors.erase("wte.weight");
}

BOOST_AUTO_TEST_CASE(names_without_the_prefix) {
  drop_prefix(1);
  BOOST_TEST(reads_right());
}

BOOST_AUTO_TEST_CASE(masks_of_older_files_are_ignored) {
  tensors["h.0.attn.bias"] = {"U8", {1, 1, 6, 6}, std::string(36, '\1')};
  tensors["transformer.h.1.attn.masked_bias"] = {"F32", {}, float_bytes({-1e4F})};
  BOOST_TEST(reads_right());
  tensors["transformer.h.x.attn.bias"] = tensors["h.0.attn.bias"];
  BOOST_TEST(has(error(), "1 unknown tensor(s): transformer.h.x.attn.bias"));
}

BOOST_AUTO_TEST_CASE(missing_and_unknown_tensors_are_listed) {
  tensors.erase("transformer.ln_f.bias");
  tensors.erase("transformer.h.1.mlp.c_fc.weight");
  BOOST_TEST(has(error(), "2 tensor(s) missing: transformer.ln_f.bias, transformer.h.1.mlp.c_fc.weight"));
  for (const auto& spec : table.tensors()) {
    tensors.erase(spec.name);
  }
  BOOST_TEST(has(error(), "and 18 more"));
}

// H04
BOOST_AUTO_TEST_CASE(a_tied_head_may_be_there_or_be_the_only_one) {
  tensors["lm_head.weight"] = embedding();
  BOOST_TEST(reads_right());
  tensors["lm_head.weight"].bytes[5] ^= 1;
  BOOST_TEST(has(error(), "lm_head.weight differs"));
  tensors["lm_head.weight"] = embedding();
  tensors.erase("transformer.wte.weight");
  BOOST_TEST(reads_right());
  tensors.erase("lm_head.weight");
  BOOST_TEST(has(error(), "missing: transformer.wte.weight"));
}

// H07
BOOST_AUTO_TEST_CASE(padded_embeddings_are_refused_or_cut_on_request) {
  embedding().shape = {16, 4};
  embedding().bytes += std::string(80, '\x7f');
  BOOST_TEST(has(error(), "has 16 rows, config.json says vocab_size 11"));
  BOOST_TEST(error(ExtraVocabRows::cut).empty());
  const HfModel model(path, ExtraVocabRows::cut);
  std::vector<float> values(44);
  model.read(model.table().tensor("transformer.wte.weight"), 0, values);
  BOOST_TEST(values[43] == raw_value(3, 43));
  config["vocab_size"] = 16;
  BOOST_TEST(error().empty());
  config["vocab_size"] = 20;
  BOOST_TEST(has(error(ExtraVocabRows::cut), "has the shape [16,4], config.json makes it [20,4]"));
}

BOOST_AUTO_TEST_CASE(shapes_are_checked) {
  config["n_positions"] = 7;
  BOOST_TEST(has(error(), "transformer.wpe.weight has the shape [6,4], config.json makes it [7,4]"));
  config["n_positions"] = 6;
  RawTensor& linear = tensors.at("transformer.h.0.attn.c_attn.weight");
  linear.shape = {12, 4};
  BOOST_TEST(has(error(), "c_attn.weight has the shape [12,4]"));
}

// H17
BOOST_AUTO_TEST_CASE(each_tensor_has_its_own_type) {
  tensors.at("transformer.ln_f.bias") = {"F16", {4}, std::string("\x01\x00\xff\x03\x00\x3c\x00\xc0", 8)};
  tensors.at("transformer.ln_f.weight") = {"BF16", {4}, std::string("\x80\x3f\x00\x40\x40\x40\x80\x40", 8)};
  BOOST_TEST(error().empty());
  const HfModel model(path);
  std::vector<float> values(4);
  model.read(model.table().tensor("transformer.ln_f.bias"), 0, values);
  BOOST_TEST(values == (std::vector{0x1p-24F, 1023 * 0x1p-24F, 1.0F, -2.0F}),
             boost::test_tools::per_element());
  model.read(model.table().tensor("transformer.ln_f.weight"), 1, std::span(values).first(3));
  BOOST_TEST(values == (std::vector{2.0F, 3.0F, 4.0F, -2.0F}), boost::test_tools::per_element());
  for (const auto& [type, bytes] : {std::pair("F64", 32), std::pair("F8_E4M3", 4), std::pair("I32", 16)}) {
    tensors.at("transformer.ln_f.bias") = {type, {4}, std::string(static_cast<std::size_t>(bytes), '\0')};
    BOOST_TEST(has(error(), std::string("ln_f.bias is ") + type));
  }
}

BOOST_AUTO_TEST_CASE(a_piece_of_a_unit_is_read_across_tensors) {
  write(path);
  const HfModel model(path);
  const UnitSpec& unit = table.units()[1];
  std::vector<float> whole(static_cast<std::size_t>(unit.elements));
  model.read_unit_piece(1, 0, whole);
  std::vector<float> piece(static_cast<std::size_t>(unit.elements), -1.0F);
  model.read_unit_piece(1, 3, piece);
  BOOST_TEST(std::equal(whole.begin() + 3, whole.end(), piece.begin()));
  BOOST_TEST(piece.back() == 0.0F);
  BOOST_TEST(whole[5] == raw_value(5, 1));  // ln_1.bias follows the four elements of ln_1.weight
}

// H15
BOOST_AUTO_TEST_CASE(sharded_folders) {
  nlohmann::json good;
  write_sharded(*this, good);
  write_index(*this, good);
  BOOST_TEST(reads_right_as_it_stands());
  good["metadata"]["total_size"] = 7;  // advice only
  write_index(*this, good);
  write_tensors(path / "model.safetensors", {});  // stray: the index rules
  BOOST_TEST(reads_right_as_it_stands());

  // A part's name is free; older writers put the number behind the ending.
  const char* odd_name = "model.safetensors-00002-of-00002.safetensors";
  std::filesystem::copy_file(path / "part-2.safetensors", path / odd_name);
  nlohmann::json odd = good;
  for (auto& [name, file] : odd["weight_map"].items()) {
    file = file == "part-2.safetensors" ? odd_name : file.get<std::string>();
  }
  write_index(*this, odd);
  BOOST_TEST(reads_right_as_it_stands());

  nlohmann::json wrong = good;
  wrong["weight_map"]["transformer.ln_f.bias"] = "part-1.safetensors";
  BOOST_TEST(
      has(indexed_error(*this, wrong), "part-1.safetensors holds transformer.ln_f.bias, which it does not"));
  wrong = good;
  for (const char* outside : {"../part-2.safetensors", "/part-2.safetensors", "..", ".", ""}) {
    wrong["weight_map"]["transformer.ln_f.bias"] = outside;
    BOOST_TEST(has(indexed_error(*this, wrong), "not a plain file name"));
  }
  wrong = good;
  wrong["weight_map"].erase("transformer.ln_f.bias");
  BOOST_TEST(has(indexed_error(*this, wrong), "missing: transformer.ln_f.bias"));
  wrong = good;
  wrong.erase("weight_map");
  BOOST_TEST(has(indexed_error(*this, wrong), "weight_map is missing"));
  std::filesystem::remove(path / "part-2.safetensors");
  BOOST_TEST(has(indexed_error(*this, good), "names part-2.safetensors, which is not there"));
}

BOOST_AUTO_TEST_CASE(folders_that_are_none) {
  BOOST_TEST(has(error_of([&] { const HfModel model(path / "missing"); }), "config.json"));
  write(path);
  std::filesystem::remove(path / "model.safetensors");
  BOOST_TEST(has(error_of([&] { const HfModel model(path); }), "model.safetensors: No such file"));
  std::ofstream(path / "pytorch_model.bin") << "x";
  BOOST_TEST(has(error_of([&] { const HfModel model(path); }), "safe_serialization=True"));
  std::ofstream(path / "config.json") << R"({"n_layer": NaN})";
  BOOST_TEST(has(error_of([&] { const HfModel model(path); }), "config.json: not valid JSON"));
}

BOOST_AUTO_TEST_SUITE_END()
