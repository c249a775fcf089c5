// config.json: strict JSON, and the model that it describes.
#include <string>

#include "core/log.hpp"
#include "fuzz_target.hpp"
#include "hf/hf_config.hpp"
#include "hf/strict_json.hpp"

using namespace shardgpt;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  set_log_level(LogLevel::error);
  fuzz::may_refuse([&] {
    const std::string text(data, data + size);
    const ModelConfig config = model_config_from_hf(parse_strict_object(text, "config.json"), "config.json");
    // What is accepted is valid, and the same after it was written and read.
    const std::string written = hf_config_json(config, WeightType::f32).dump();
    ModelConfig again;
    try {
      again = model_config_from_hf(parse_strict_object(written, "written"), "written");
    } catch (const InputError&) {
      fuzz::require(false, "a configuration that was accepted is refused after it was written");
    }
    fuzz::require(again == config, "a configuration changes when it is written and read");
  });
  return 0;
}
