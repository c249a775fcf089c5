#pragma once

#include <istream>
#include <string>
#include <vector>

namespace shardgpt {

/// One value of a configuration file, as text.
struct TomlValue {
  std::string text;
  bool is_string = false;  ///< it stood in quotes; else a number, true or false
};

/// One `key = value` of a configuration file.
struct TomlEntry {
  std::string key;
  std::vector<TomlValue> values;  ///< one, unless `is_list`
  bool is_list = false;
  int line = 0;  ///< of the key, from 1
};

/// Reads the part of TOML that a list of options needs: strings, numbers, truth values and lists of them.
/// Throws InputError "FILE:LINE: ..." for what is no such TOML, for tables, and for a key that stands there
/// twice.
[[nodiscard]] std::vector<TomlEntry> read_toml_entries(std::istream& input, const std::string& file);

}  // namespace shardgpt
