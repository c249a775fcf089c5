#include <fstream>
#include <sstream>

#include <boost/test/unit_test.hpp>

#include "checkpoint/checkpoint_error.hpp"
#include "checkpoint/run_folder.hpp"
#include "checkpoints/convert_command.hpp"
#include "checkpoints/output_folder.hpp"
#include "checkpoints/source_checkpoint.hpp"
#include "core/atomic_file.hpp"
#include "hf/hf_model.hpp"
#include "hf_folder.hpp"

using namespace shardgpt;

namespace {

const std::filesystem::path reference = std::filesystem::path(SHARDGPT_TEST_REFERENCE_DIR) / "tiny-a";

struct Converter : TestFolder {
  std::ostringstream out;
  std::filesystem::path checkpoint = path / "a.h5";

  Converter() { import_from_hf({{reference, checkpoint}}, out); }

  [[nodiscard]] ExportOptions to(const char* name, WeightType dtype = WeightType::f32) const {
    ExportOptions options;
    options.checkpoint = checkpoint;
    options.output = path / name;
    options.dtype = dtype;
    return options;
  }

  /// Every value of two Hugging Face folders.
  static bool same_weights(const std::filesystem::path& a, const std::filesystem::path& b) {
    const HfModel left(a);
    const HfModel right(b);
    std::vector<float> x;
    std::vector<float> y;
    for (const TensorSpec& tensor : left.table().tensors()) {
      x.resize(static_cast<std::size_t>(tensor.elements));
      y.resize(x.size());
      left.read(tensor, 0, x);
      right.read(tensor, 0, y);
      if (x != y) {
        return false;
      }
    }
    return left.config() == right.config();
  }

  void flip(std::int64_t offset) const {
    std::fstream file(checkpoint, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(offset);
    const int byte = file.get();
    file.seekp(offset);
    file.put(static_cast<char>(byte ^ 1));
  }

  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(convert, Converter)

BOOST_AUTO_TEST_CASE(there_and_back_is_bit_exact) {
  export_to_hf(to("hf"), out);
  BOOST_TEST(same_weights(reference, path / "hf"));
  import_from_hf({{path / "hf", path / "b.h5"}}, out);
  ExportOptions again = to("hf2");
  again.checkpoint = path / "b.h5";
  export_to_hf(again, out);
  BOOST_TEST(read_text_file(path / "hf" / "model.safetensors") ==
             read_text_file(path / "hf2" / "model.safetensors"));
  BOOST_TEST(!has(read_text_file(path / "hf" / "model.safetensors"), "lm_head"));
}

BOOST_AUTO_TEST_CASE(a_start_checkpoint_says_that_its_moments_are_zero) {
  const SourceCheckpoint source(checkpoint);
  BOOST_TEST(source.info().state["step"] == 0);
  BOOST_TEST(source.info().state["origin"]["moments"] == "zero");
  for (const TensorSpec& tensor : source.table().tensors()) {
    for (const StateKind kind : {StateKind::adam_m, StateKind::adam_v}) {
      source.stream(tensor, kind, [](std::span<const float> values) {
        BOOST_TEST(std::ranges::all_of(values, [](float value) { return value == 0.0F; }));
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(parts_hold_the_same_as_one_file) {
  export_to_hf(to("one"), out);
  ExportOptions options = to("parts");
  options.max_part_bytes = 100'000;
  export_to_hf(options, out);
  BOOST_TEST(std::filesystem::exists(path / "parts" / "model.safetensors.index.json"));
  BOOST_TEST(!std::filesystem::exists(path / "parts" / "model.safetensors"));
  BOOST_TEST(same_weights(path / "one", path / "parts"));
  options.output = path / "each";
  options.max_part_bytes = 1;  // each tensor alone
  export_to_hf(options, out);
  BOOST_TEST(std::filesystem::exists(path / "each" / "model-00028-of-00028.safetensors"));
  BOOST_TEST(same_weights(path / "one", path / "each"));
}

BOOST_AUTO_TEST_CASE(half_width_exports_are_rounded_and_then_exact) {
  for (const WeightType type : {WeightType::bf16, WeightType::f16}) {
    const std::string name(torch_name(type));
    export_to_hf(to(name.c_str(), type), out);
    BOOST_TEST(has(read_text_file(path / name / "config.json"), "\"torch_dtype\": \"" + name + "\""));
    import_from_hf({{path / name, path / (name + ".h5")}}, out);
    ExportOptions again = to("again");
    again.checkpoint = path / (name + ".h5");
    again.dtype = type;
    again.overwrite = true;
    export_to_hf(again, out);
    BOOST_TEST(read_text_file(path / name / "model.safetensors") ==
               read_text_file(path / "again" / "model.safetensors"));
  }
}

// H17: sub-normal halves of a file keep their value through a checkpoint and back.
BOOST_AUTO_TEST_CASE(half_sub_normals_survive_the_way_through_a_checkpoint) {
  HfFolder folder;
  const std::string halves("\x01\x00\xff\x03\x01\x80\x00\x04", 8);
  folder.tensors.at("transformer.ln_f.bias") = {"F16", {4}, halves};
  folder.write(path / "halves");
  import_from_hf({{path / "halves", path / "halves.h5"}}, out);
  ExportOptions options = to("halves-again", WeightType::f16);
  options.checkpoint = path / "halves.h5";
  export_to_hf(options, out);
  const SafetensorsReader file(path / "halves-again" / "model.safetensors");
  const auto& entries = file.header().entries;
  const auto entry = std::ranges::find(entries, "transformer.ln_f.bias", &SafetensorsEntry::name);
  const std::string content = read_text_file(path / "halves-again" / "model.safetensors");
  BOOST_TEST((content.substr(content.size() - static_cast<std::size_t>(entries.back().end - entry->begin),
                             8) == halves));
  std::vector<float> values(4);
  file.read(*entry, 0, values);
  BOOST_TEST(values == (std::vector{0x1p-24F, 1023 * 0x1p-24F, -0x1p-24F, 0x1p-14F}),
             boost::test_tools::per_element());
}

// What the model is trained without is kept for those who train on with transformers.
BOOST_AUTO_TEST_CASE(dropout_of_an_imported_configuration_is_exported_again) {
  HfFolder folder;
  folder.config["resid_pdrop"] = 0.1;
  folder.config["embd_pdrop"] = 0.2;
  folder.config["attn_pdrop"] = 0.3;
  folder.write(path / "dropout");
  import_from_hf({{path / "dropout", path / "dropout.h5"}}, out);
  ExportOptions options = to("dropout-again");
  options.checkpoint = path / "dropout.h5";
  export_to_hf(options, out);
  const auto config = nlohmann::json::parse(read_text_file(path / "dropout-again" / "config.json"));
  for (const char* name : {"resid_pdrop", "embd_pdrop", "attn_pdrop"}) {
    BOOST_TEST(config[name] == folder.config[name]);
  }
}

BOOST_AUTO_TEST_CASE(merged_files_hold_every_tensor_under_its_name) {
  merge_checkpoint({checkpoint, path / "m.safetensors", true, false}, out);
  const SafetensorsReader merged(path / "m.safetensors");
  BOOST_TEST(merged.header().entries.size() == 3 * 28);
  BOOST_TEST(merged.header().metadata.contains("shardgpt_state"));
  merge_checkpoint({checkpoint, path / "m.h5", true, false}, out);
  const H5File file = H5File::open(path / "m.h5", H5File::Access::read);
  const SourceCheckpoint source(checkpoint);
  for (const TensorSpec& tensor : source.table().tensors()) {
    BOOST_TEST(file.shape_of(tensor.name).dims == tensor.shape, boost::test_tools::per_element());
    BOOST_TEST(file.shape_of("adam_v." + tensor.name).dims == tensor.shape, boost::test_tools::per_element());
    std::vector<float> stored(static_cast<std::size_t>(tensor.elements));
    file.read_floats(tensor.name, 0, stored);
    std::vector<float> wanted;
    source.stream(tensor, StateKind::param, [&](std::span<const float> values) {
      wanted.insert(wanted.end(), values.begin(), values.end());
    });
    BOOST_TEST((stored == wanted));
  }
  BOOST_TEST(has(error_of([&] {
                   merge_checkpoint({checkpoint, path / "m.bin", false, false}, out);
                 }),
                 ".safetensors or .h5"));
}

BOOST_AUTO_TEST_CASE(outputs_that_exist_are_kept_unless_asked) {
  export_to_hf(to("hf"), out);
  std::ofstream(path / "hf" / "mine.txt") << "x";
  BOOST_TEST(has(error_of([&] { export_to_hf(to("hf"), out); }), "--overwrite"));
  BOOST_TEST(std::filesystem::exists(path / "hf" / "mine.txt"));
  ExportOptions options = to("hf");
  options.overwrite = true;
  export_to_hf(options, out);
  BOOST_TEST(!std::filesystem::exists(path / "hf" / "mine.txt"));
  std::filesystem::create_directory(path / "empty");
  export_to_hf(to("empty"), out);
  BOOST_TEST(has(error_of([&] { export_to_hf(to("a.h5"), out); }), "is not a folder"));
  BOOST_TEST(has(error_of([&] {
                   merge_checkpoint({checkpoint, path / "a.h5", false, false}, out);
                 }),
                 "exists"));
}

BOOST_AUTO_TEST_CASE(what_a_killed_conversion_left_is_removed_by_the_next) {
  std::string name;
  {
    const PendingOutput output(path / "out", PendingOutput::Kind::folder, Overwrite::refuse);
    name = output.path().string();
    BOOST_TEST(std::filesystem::is_directory(name));
  }
  BOOST_TEST(!std::filesystem::exists(name));
  const std::string prefix = name.substr(0, name.rfind('.') + 1);
  const std::string of_no_process = prefix + "2147483647";
  const std::string of_a_process = prefix + "1";
  const std::string of_another_machine = (path / "out.tmp.elsewhere.2147483647").string();
  for (const std::string& left : {of_no_process, of_a_process, of_another_machine, prefix + "x"}) {
    std::filesystem::create_directory(left);
    std::ofstream(left + "/part") << "x";
  }
  export_to_hf(to("out"), out);
  BOOST_TEST(!std::filesystem::exists(of_no_process));
  BOOST_TEST(std::filesystem::exists(of_a_process));
  BOOST_TEST(std::filesystem::exists(of_another_machine));
  BOOST_TEST(std::filesystem::exists(prefix + "x"));
}

BOOST_AUTO_TEST_CASE(lack_of_space_is_said_before_the_work) {
  const PendingOutput output(path / "out", PendingOutput::Kind::file, Overwrite::refuse);
  output.require_space(1);
  const std::string found = error_of([&] { output.require_space(std::int64_t{1} << 60); });
  BOOST_TEST(has(found, "it needs 1152921504606846976 bytes"), found);
  BOOST_TEST(has(found, "are free in"), found);
}

// A damaged checkpoint: found by verify and by every conversion that reads the value; nothing is left.
BOOST_AUTO_TEST_CASE(damage_ends_the_conversion_and_leaves_nothing) {
  const TensorTable table(SourceCheckpoint(checkpoint).info().config);
  std::int64_t offset = 0;
  { offset = H5File::open(checkpoint, H5File::Access::read).shape_of("/units/h.1/param").file_offset; }
  flip(offset + 4 * table.units()[2].elements - 1);
  BOOST_CHECK_THROW(verify_checkpoint({checkpoint, {}}, out), DamagedCheckpoint);
  BOOST_CHECK_THROW(export_to_hf(to("hf"), out), DamagedCheckpoint);
  BOOST_CHECK_THROW(merge_checkpoint({checkpoint, path / "m.h5", false, false}, out), DamagedCheckpoint);
  BOOST_CHECK_THROW(merge_checkpoint({checkpoint, path / "m.safetensors", false, false}, out),
                    DamagedCheckpoint);
  BOOST_TEST(entries() == 1);
  inspect_model({checkpoint, /*quick=*/true, /*json=*/false}, out);  // reads no values
  out.str("");
  BOOST_TEST(has(error_of([&] { inspect_model({checkpoint, false, false}, out); }), "is damaged"));
  BOOST_TEST(has(out.str(), "DAMAGED"));
}

BOOST_AUTO_TEST_CASE(a_run_folder_means_its_newest_checkpoint) {
  const auto run = path / "run";
  std::filesystem::create_directories(run / "checkpoints");
  for (const std::int64_t step : {5, 40}) {
    std::filesystem::copy_file(checkpoint, checkpoint_path(run, step));
  }
  BOOST_TEST(resolve_checkpoint(run) == checkpoint_path(run, 40));
  BOOST_TEST(resolve_checkpoint(run / "checkpoints").filename() == "step_00000040.h5");
  BOOST_TEST(resolve_checkpoint(checkpoint) == checkpoint);
  BOOST_TEST(has(error_of([&] { (void)resolve_checkpoint(path / "none"); }), "no such file"));
  inspect_model({run}, out);
  BOOST_TEST(has(out.str(), "transformer.h.1.mlp.c_proj.weight"));
  verify_checkpoint({run, {}}, out);
  BOOST_TEST(has(out.str(), "is sound"));
}

BOOST_AUTO_TEST_SUITE_END()
