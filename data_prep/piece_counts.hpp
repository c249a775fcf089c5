#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data_prep/piece_key.hpp"
#include "data_prep/splitter.hpp"

namespace shardgpt {

/// How often each piece of text (see Splitter) occurs. Its memory grows with the different pieces, not with
/// the text: 48 bytes for one of up to 15 bytes.
class PieceCounts {
 public:
  PieceCounts() : slots_(first_slots) {}
  PieceCounts(std::initializer_list<std::pair<std::string_view, std::int64_t>> pieces);

  /// Counts `piece`, which is not empty, `times` more often.
  void add(std::string_view piece, std::int64_t times) { add(piece, 0, piece.size(), times); }
  /// Counts all pieces of a text.
  void add_text(const Splitter& splitter, std::string_view text);
  void add_all(const PieceCounts& other);

  /// Number of different pieces.
  [[nodiscard]] std::size_t size() const { return short_pieces_ + long_pieces_.size(); }

  /// Calls visit(std::string_view piece, std::int64_t count) for each piece, in no order to rely on.
  template <class Visitor>
  void for_each(Visitor&& visit) const {
    for (const Slot& slot : slots_) {
      if (!slot.key.empty()) {
        visit(slot.key.text(), slot.count);
      }
    }
    for (const auto& [piece, count] : long_pieces_) {
      visit(std::string_view(piece), count);
    }
  }

 private:
  static constexpr std::size_t first_slots = 1024;
  struct Slot {
    PieceKey key;
    std::int64_t count = 0;
  };

  void add(std::string_view text, std::size_t begin, std::size_t size, std::int64_t times);
  [[nodiscard]] Slot& slot_of(const PieceKey& key);
  void grow();

  std::vector<Slot> slots_;  ///< flat and with linear probing: one look at memory a piece
  std::size_t short_pieces_ = 0;
  std::unordered_map<std::string, std::int64_t> long_pieces_;
};

}  // namespace shardgpt
