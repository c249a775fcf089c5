#include "train/train_options_file.hpp"

#include <cctype>

#include "core/error.hpp"
#include "train/toml_entries.hpp"

namespace shardgpt {
namespace {

void require_kind(const TomlEntry& entry, const CLI::Option& option, const std::string& place) {
  const bool is_flag = option.get_expected_min() == 0;
  const bool takes_list = option.get_expected_max() > 1;
  SHARDGPT_REQUIRE(!entry.is_list || takes_list, place + ": '" + entry.key + "' is a list of " +
                                                     std::to_string(entry.values.size()) +
                                                     ", wanted one value");
  for (const TomlValue& value : entry.values) {
    SHARDGPT_REQUIRE(!takes_list || value.is_string,
                     place + ": '" + entry.key + "' holds " + value.text + ", wanted text in quotes only");
    SHARDGPT_REQUIRE(!is_flag || (!value.is_string && (value.text == "true" || value.text == "false")),
                     place + ": '" + entry.key + "' is " + value.text + ", wanted true or false");
  }
}

/// Whether `text` holds `flag` and not just the beginning of a longer one.
bool names_flag(const std::string& text, const std::string& flag) {
  for (std::size_t at = text.find(flag); at != std::string::npos; at = text.find(flag, at + 1)) {
    const std::size_t end = at + flag.size();
    if (end == text.size() ||
        (text[end] != '-' && std::isalnum(static_cast<unsigned char>(text[end])) == 0)) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string TrainOptionsFile::to_config(const CLI::App* /*app*/, bool /*default_also*/,
                                        bool /*write_description*/, std::string /*prefix*/) const {
  return {};
}

std::vector<CLI::ConfigItem> TrainOptionsFile::from_config(std::istream& input) const {
  const std::string file = app_.get_config_ptr()->as<std::string>();
  std::vector<CLI::ConfigItem> found;
  for (const TomlEntry& entry : read_toml_entries(input, file)) {
    const std::string place = file + ":" + std::to_string(entry.line);
    const CLI::Option* const option = app_.get_option_no_throw("--" + entry.key);
    SHARDGPT_REQUIRE(option != nullptr && option->get_configurable() && option != app_.get_config_ptr(),
                     place + ": unknown option '" + entry.key +
                         "' (shardgpt-train --help lists the options; the file has their names without "
                         "dashes)");
    require_kind(entry, *option, place);
    if (option->empty()) {  // the command line wins
      places_["--" + entry.key] = place;
    }
    CLI::ConfigItem item;
    item.name = entry.key;
    for (const TomlValue& value : entry.values) {
      item.inputs.push_back(value.text);
    }
    found.push_back(std::move(item));
  }
  return found;
}

std::string TrainOptionsFile::with_places(const std::string& message) const {
  std::string result = message;
  for (const auto& [flag, place] : places_) {
    if (names_flag(message, flag)) {
      result += "; " + flag + " stands in " + place;
    }
  }
  return result;
}

}  // namespace shardgpt
