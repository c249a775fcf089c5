#include "data_prep/piece_counts.hpp"

namespace shardgpt {

PieceCounts::PieceCounts(std::initializer_list<std::pair<std::string_view, std::int64_t>> pieces)
    : PieceCounts() {
  for (const auto& [piece, count] : pieces) {
    add(piece, count);
  }
}

void PieceCounts::add_text(const Splitter& splitter, std::string_view text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = splitter.piece_end(text, begin);
    add(text, begin, end - begin, 1);
    begin = end;
  }
}

void PieceCounts::add_all(const PieceCounts& other) {
  other.for_each([this](std::string_view piece, std::int64_t count) { add(piece, count); });
}

void PieceCounts::add(std::string_view text, std::size_t begin, std::size_t size, std::int64_t times) {
  if (size > PieceKey::max_bytes) {
    long_pieces_[std::string(text.substr(begin, size))] += times;
    return;
  }
  const PieceKey key(text, begin, size);
  Slot& slot = slot_of(key);
  slot.count += times;
  if (slot.key.empty()) {
    slot.key = key;
    if (2 * ++short_pieces_ > slots_.size()) {
      grow();
    }
  }
}

PieceCounts::Slot& PieceCounts::slot_of(const PieceKey& key) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t index = static_cast<std::size_t>(key.hash() >> 32U) & mask;
  while (!(slots_[index].key == key || slots_[index].key.empty())) {
    index = (index + 1) & mask;
  }
  return slots_[index];
}

void PieceCounts::grow() {
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (!slot.key.empty()) {
      slot_of(slot.key) = slot;
    }
  }
}

}  // namespace shardgpt
