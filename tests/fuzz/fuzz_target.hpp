#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "core/error.hpp"

/// What libFuzzer and replay_main.cpp call with one input. Returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace shardgpt::fuzz {

/// Runs `work`, which may refuse its input with InputError and in no other way: anything else is a finding.
template <class Work>
void may_refuse(Work&& work) {
  try {
    work();
  } catch (const InputError&) {  // NOLINT(bugprone-empty-catch): the wanted outcome
  }
}

/// A finding: ends the process where `condition` is false.
void require(bool condition, const char* what);

/// A file in memory with this content, for code that opens files; the path stays valid until the next call.
[[nodiscard]] std::filesystem::path file_with(std::span<const std::byte> content);

}  // namespace shardgpt::fuzz
