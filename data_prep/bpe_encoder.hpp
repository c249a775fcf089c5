#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "data_prep/bpe_model.hpp"
#include "data_prep/piece_key.hpp"
#include "data_prep/splitter.hpp"

namespace shardgpt {

/// Turns ordinary text into token ids. Holds a cache of pieces of fixed size and scratch memory, so each
/// thread has one of its own. Any bytes are text: NUL, and what is no UTF-8, come back exactly from decoding.
class BpeEncoder {
 public:
  /// `model` must outlive the encoder.
  explicit BpeEncoder(const BpeModel& model);

  /// Appends the ids of `text`, taken as one whole text.
  void encode(std::string_view text, std::vector<std::int32_t>& out);

 private:
  /// A short piece and its ids.
  struct CachedPiece {
    PieceKey key;
    std::array<std::int32_t, 3> ids{};
    std::uint32_t count = 0;
  };
  struct Symbol {
    std::int32_t id;
    std::uint32_t previous;
    std::uint32_t next;
  };

  void encode_short(std::string_view text, std::size_t begin, std::size_t size,
                    std::vector<std::int32_t>& out);
  void merge(std::string_view piece, std::vector<std::int32_t>& out);
  void merge_by_scanning(std::string_view piece, std::vector<std::int32_t>& out);
  void merge_by_heap(std::string_view piece, std::vector<std::int32_t>& out);

  const BpeModel* model_;
  Splitter splitter_;
  std::vector<CachedPiece> cache_;
  std::vector<std::int32_t> ids_;
  std::vector<Merge> candidates_;
  std::vector<Symbol> symbols_;
  std::vector<std::uint64_t> heap_;
};

}  // namespace shardgpt
