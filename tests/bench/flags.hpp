#pragma once

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace shardgpt::bench {

/// Options of a benchmark: pairs of a flag and its value.
class Flags {
 public:
  template <class Integer>
  void number(const std::string& flag, Integer& value) {
    known_[flag] = [&value](const std::string& text) {
      value = static_cast<std::remove_reference_t<Integer>>(std::stol(text));
    };
  }
  void text(const std::string& flag, std::string& value) {
    known_[flag] = [&value](const std::string& given) { value = given; };
  }
  /// Throws std::invalid_argument with the usage for an unknown flag or one without a value.
  void parse(int argc, char** argv) const {
    for (int i = 1; i < argc; i += 2) {
      const auto found = known_.find(argv[i]);
      if (found == known_.end() || i + 1 == argc) {
        std::string usage = std::string("usage: ") + argv[0];
        for (const auto& [flag, set] : known_) {
          usage += " [" + flag + " VALUE]";
        }
        throw std::invalid_argument(usage);
      }
      found->second(argv[i + 1]);
    }
  }

 private:
  std::map<std::string, std::function<void(const std::string&)>> known_;
};

}  // namespace shardgpt::bench
