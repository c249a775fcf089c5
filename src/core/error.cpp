#include "core/error.hpp"

namespace shardgpt {

void throw_input_error(const std::string& message) {
  throw InputError(message);
}

void throw_expectation_failed(const char* condition, const char* file, int line) {
  throw std::logic_error(std::string(file) + ":" + std::to_string(line) + ": expected " + condition);
}

}  // namespace shardgpt
