#include "tests/cuda_on_host/exec/options.hpp"

#include <charconv>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>

namespace cuda_on_host {

namespace {

struct SharedOptions {
  std::mutex mutex;
  Options options;
};

Options options_of_environment() {
  const char* const text = std::getenv("SHARDGPT_CUDA_ON_HOST_ORDER");
  return text == nullptr ? Options{} : parse_options(text);
}

SharedOptions& shared_options() {
  static SharedOptions shared{{}, options_of_environment()};
  return shared;
}

}  // namespace

Options parse_options(std::string_view text) {
  if (text == "ascending") {
    return {ThreadOrder::ascending, 1};
  }
  if (text == "newest_first") {
    return {ThreadOrder::newest_first, 1};
  }
  constexpr std::string_view random = "random";
  if (text.starts_with(random)) {
    Options options{ThreadOrder::random, 1};
    const std::string_view seed = text.substr(random.size());
    if (seed.empty()) {
      return options;
    }
    const char* const end = seed.data() + seed.size();
    if (seed.size() > 1 && seed.front() == ':' &&
        std::from_chars(seed.data() + 1, end, options.seed).ptr == end) {
      return options;
    }
  }
  throw std::invalid_argument("thread order \"" + std::string(text) +
                              "\": wanted is ascending, newest_first, random or random:SEED");
}

void set_options(const Options& options) {
  SharedOptions& shared = shared_options();
  const std::lock_guard lock(shared.mutex);
  shared.options = options;
}

Options current_options() {
  SharedOptions& shared = shared_options();
  const std::lock_guard lock(shared.mutex);
  return shared.options;
}

}  // namespace cuda_on_host
