#include <cmath>
#include <fstream>
#include <limits>

#include <boost/test/unit_test.hpp>

#include "checkpoint/run_folder.hpp"
#include "checkpoints/convert_command.hpp"
#include "checkpoints/run_loss.hpp"
#include "checkpoints/tensor_statistics.hpp"
#include "core/atomic_file.hpp"
#include "hf_folder.hpp"

using namespace shardgpt;

namespace {

struct Inspect : TestFolder, HfFolder {
  using TestFolder::path;
  std::ostringstream out;

  nlohmann::json json_of(const std::filesystem::path& model, bool quick = false) {
    out.str("");
    inspect_model({model, quick, /*json=*/true}, out);
    return nlohmann::json::parse(out.str());
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(tensor_statistics)

BOOST_AUTO_TEST_CASE(agree_with_the_definition_in_any_pieces) {
  std::vector<float> values;
  values.reserve(10'000);
  for (int i = 0; i < 10'000; ++i) {
    values.push_back(1000.0F + static_cast<float>(i % 17) * 0.5F - (i == 5000 ? 3000.0F : 0.0F));
  }
  double sum = 0;
  for (const float value : values) {
    sum += value;
  }
  const double mean = sum / 10'000;
  double squares = 0;
  for (const float value : values) {
    squares += (value - mean) * (value - mean);
  }
  for (const std::size_t piece : {1U, 7U, 4096U, 10'000U}) {
    TensorStatistics found;
    for (std::size_t at = 0; at < values.size(); at += piece) {
      found.add(std::span(values).subspan(at, std::min(piece, values.size() - at)));
    }
    BOOST_TEST(found.mean() == mean, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(found.std_dev() == std::sqrt(squares / 10'000), boost::test_tools::tolerance(1e-10));
    BOOST_TEST(found.largest() == -1997.0 + 0.5 * (5000 % 17 - 6));
    BOOST_TEST(found.non_finite() == 0);
  }
}

BOOST_AUTO_TEST_CASE(values_that_are_not_finite_are_counted_only) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  TensorStatistics found;
  BOOST_TEST(std::isnan(found.mean()));
  found.add(std::vector{infinity, std::nanf("")});
  BOOST_TEST(std::isnan(found.std_dev()));
  found.add(std::vector{1.0F, -infinity, -3.0F});
  BOOST_TEST(found.non_finite() == 3);
  BOOST_TEST(found.mean() == -1.0);
  BOOST_TEST(found.std_dev() == 2.0);
  BOOST_TEST(found.largest() == -3.0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(inspect, Inspect)

BOOST_AUTO_TEST_CASE(the_same_numbers_in_every_form) {
  tensors.at("transformer.ln_f.bias").bytes =
      float_bytes({1.0F, -5.0F, std::numeric_limits<float>::infinity(), 1.0F});
  write(path / "hf");
  import_from_hf({{path / "hf", path / "a.h5"}}, out);
  export_to_llmc({path / "a.h5", path / "a.bin", WeightType::f32, false}, out);
  const nlohmann::json from_hf = json_of(path / "hf");
  BOOST_TEST(from_hf["format"] == "hugging-face");
  BOOST_TEST(from_hf["parameters"] == table.parameters());
  BOOST_TEST(from_hf["tensors"].size() == table.tensors().size());
  const nlohmann::json& row = from_hf["tensors"][2];
  BOOST_TEST(row["name"] == "transformer.ln_f.bias");
  BOOST_TEST(row["shape"] == nlohmann::json({4}));
  BOOST_TEST(row["dtype"] == "F32");
  BOOST_TEST(row["mean"] == -1.0);
  BOOST_TEST(row["std"].get<double>() == std::sqrt(8.0), boost::test_tools::tolerance(1e-12));
  BOOST_TEST(row["largest"] == -5.0);
  BOOST_TEST(row["non_finite"] == 1);
  const nlohmann::json from_checkpoint = json_of(path / "a.h5");
  BOOST_TEST(from_checkpoint["format"] == "checkpoint");
  BOOST_TEST(from_checkpoint["state"]["step"] == 0);
  BOOST_TEST(from_checkpoint["loss"].is_null());
  BOOST_TEST((from_checkpoint["tensors"] == from_hf["tensors"]));
  const nlohmann::json from_llmc = json_of(path / "a.bin");
  BOOST_TEST(from_llmc["format"] == "llm.c");
  BOOST_TEST((from_llmc["tensors"] == from_hf["tensors"]));
  BOOST_TEST(!json_of(path / "hf", /*quick=*/true)["tensors"][0].contains("mean"));
}

BOOST_AUTO_TEST_CASE(tensors_without_a_finite_value_have_no_mean) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  tensors.at("transformer.ln_f.bias").bytes = float_bytes({nan, nan, nan, nan});
  write(path / "hf");
  BOOST_TEST(json_of(path / "hf")["tensors"][2]["mean"].is_null());
}

BOOST_AUTO_TEST_CASE(the_loss_is_found_in_the_run_of_the_checkpoint) {
  write(path / "hf");
  const std::filesystem::path file = checkpoint_path(path / "run", 0);
  import_from_hf({{path / "hf", file}}, out);
  write_file_atomically(path / "run" / "metrics.jsonl",
                        "{\"step\":1,\"loss\":9}\n{\"step\":0,\"loss\":3.5}\nnot json\n"
                        "{\"step\":0,\"val_loss\":3.75}\n{\"step\":0,\"lo");
  const nlohmann::json found = json_of(path / "run");
  BOOST_TEST(found["loss"] == 3.5);
  BOOST_TEST(found["val_loss"] == 3.75);
  inspect_model({path / "run", true, false}, out);
  BOOST_TEST(has(out.str(), "3.5 in training, 3.75 in validation"));
  std::filesystem::rename(file, path / "elsewhere.h5");
  BOOST_TEST(json_of(path / "elsewhere.h5")["loss"].is_null());
}

BOOST_AUTO_TEST_CASE(what_is_no_model_is_refused) {
  write_file_atomically(path / "text", "hello");
  BOOST_TEST(has(error_of([&] { inspect_model({path / "text"}, out); }), "is no model"));
  write_file_atomically(path / "empty", "");
  BOOST_TEST(has(error_of([&] { inspect_model({path / "empty"}, out); }), "is no model"));
  BOOST_TEST(has(error_of([&] { inspect_model({path / "none"}, out); }), "no such file"));
  BOOST_TEST(has(error_of([&] { inspect_model({path}, out); }), "holds no checkpoint"));
}

BOOST_AUTO_TEST_SUITE_END()
