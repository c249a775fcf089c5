// Speed of encoding on one thread, in bytes of text per second.
//   bench_tokenizer [FILE [TOKENIZER-FOLDER]] [--benchmark_...]
// Without arguments: generated text of 50,000 words with English-like frequencies, and a tokenizer trained on
// it.
#include <cmath>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/atomic_file.hpp"
#include "core/philox.hpp"
#include "data_prep/bpe_encoder.hpp"
#include "data_prep/bpe_trainer.hpp"

namespace {

using namespace shardgpt;

std::string made_up_word(std::uint64_t number) {
  static const char* const syllables[] = {"the", "in", "er", "an", "re", "on", "at", "en",
                                          "nd",  "ti", "es", "or", "te", "of", "ed", "is",
                                          "it",  "al", "ar", "st", "to", "nt", "ng", "se"};
  std::string word;
  do {
    word += syllables[number % 24];
    number /= 24;
  } while (number != 0);
  return word;
}

/// Words whose frequency falls about as 1 / rank, short ones most often.
std::string generated_text(std::size_t bytes) {
  const RandomStream random(1, RandomPurpose::test, 0);
  std::string text;
  for (std::uint64_t i = 0; text.size() < bytes; ++i) {
    const double rank = std::exp(random.uniform(2 * i) * std::log(50'000.0)) - 1;
    text += made_up_word(static_cast<std::uint64_t>(rank));
    const double end = random.uniform(2 * i + 1);
    text += end < 0.05 ? ".\n" : end < 0.1 ? ", " : " ";
  }
  return text;
}

BpeModel trained_model(const std::string& text) {
  PieceCounts counts;
  counts.add_text(Splitter(), text);
  const TrainedBpe trained = train_bpe(counts, 30'000, 2, "<|endoftext|>");
  return BpeModel::parse(trained.vocab_json(), "vocab.json", trained.merges_text(), "merges.txt");
}

void encode(benchmark::State& state, const BpeModel& model, const std::string& text, bool keep_cache) {
  BpeEncoder kept(model);
  std::vector<std::int32_t> ids;
  for ([[maybe_unused]] const auto& iteration : state) {
    ids.clear();
    if (keep_cache) {
      kept.encode(text, ids);
    } else {
      BpeEncoder(model).encode(text, ids);
    }
    benchmark::DoNotOptimize(ids.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
  state.counters["ids"] = static_cast<double>(ids.size());
}

void split(benchmark::State& state, const std::string& text) {
  const Splitter splitter;
  for ([[maybe_unused]] const auto& iteration : state) {
    for (std::size_t begin = 0; begin < text.size();) {
      begin = splitter.piece_end(text, begin);
      benchmark::DoNotOptimize(begin);
    }
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const std::string text = argc > 1 ? read_text_file(argv[1]) : generated_text(4'000'000);
  const BpeModel model =
      argc > 2 ? BpeModel::load(std::string(argv[2]) + "/vocab.json", std::string(argv[2]) + "/merges.txt")
               : trained_model(text);
  benchmark::RegisterBenchmark("split", [&](benchmark::State& state) { split(state, text); });
  benchmark::RegisterBenchmark("encode/first_time",
                               [&](benchmark::State& state) { encode(state, model, text, false); });
  benchmark::RegisterBenchmark("encode/warm_cache",
                               [&](benchmark::State& state) { encode(state, model, text, true); });
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
