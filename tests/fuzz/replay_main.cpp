// Runs a fuzz target on files, with any compiler: replay FILE-OR-FOLDER...
#include <cstdio>
#include <vector>

#include "core/atomic_file.hpp"
#include "fuzz_target.hpp"

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      files.emplace_back(argv[i]);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      files.push_back(entry.path());
    }
  }
  for (const auto& file : files) {
    const std::string content = shardgpt::read_text_file(file);
    std::fprintf(stderr, "%s\n", file.c_str());  // the last line names the input that ends the process
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(content.data()), content.size());
  }
  LLVMFuzzerTestOneInput(nullptr, 0);
  std::printf("%zu inputs\n", files.size());
  return files.empty() ? 1 : 0;
}
