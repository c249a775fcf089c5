#include "data_prep/bpe_encoder.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "core/checked.hpp"
#include "core/error.hpp"

namespace shardgpt {
namespace {

constexpr std::size_t cache_entries = std::size_t{1} << 16U;  // 2 MiB: about what a core's second cache holds
constexpr std::size_t scanned_piece_bytes = 64;  // up to here scanning for the best merge beats the heap
constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

std::size_t slot_of(const PieceKey& key) {
  return static_cast<std::size_t>(key.hash() >> 40U) % cache_entries;
}

}  // namespace

BpeEncoder::BpeEncoder(const BpeModel& model) : model_(&model), cache_(cache_entries) {}

void BpeEncoder::encode(std::string_view text, std::vector<std::int32_t>& out) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = splitter_.piece_end(text, begin);
    const std::size_t size = end - begin;
    if (size == 1) {
      out.push_back(model_->id_of_byte(static_cast<unsigned char>(text[begin])));
    } else if (size <= PieceKey::max_bytes) {
      encode_short(text, begin, size, out);
    } else {
      merge(text.substr(begin, size), out);
    }
    begin = end;
  }
}

void BpeEncoder::encode_short(std::string_view text, std::size_t begin, std::size_t size,
                              std::vector<std::int32_t>& out) {
  const PieceKey key(text, begin, size);
  CachedPiece& entry = cache_[slot_of(key)];
  if (entry.key != key) {
    const std::size_t first = out.size();
    merge(text.substr(begin, size), out);
    const std::size_t count = out.size() - first;
    if (count <= entry.ids.size()) {
      entry.key = key;
      entry.count = static_cast<std::uint32_t>(count);
      std::copy(out.begin() + static_cast<std::ptrdiff_t>(first), out.end(), entry.ids.begin());
    }
    return;
  }
  out.insert(out.end(), entry.ids.begin(), entry.ids.begin() + entry.count);
}

void BpeEncoder::merge(std::string_view piece, std::vector<std::int32_t>& out) {
  if (piece.size() <= scanned_piece_bytes) {
    merge_by_scanning(piece, out);
  } else {
    merge_by_heap(piece, out);
  }
}

void BpeEncoder::merge_by_scanning(std::string_view piece, std::vector<std::int32_t>& out) {
  ids_.clear();
  candidates_.clear();  // candidates_[i] merges ids_[i] with its right neighbour
  for (const char byte : piece) {
    ids_.push_back(model_->id_of_byte(static_cast<unsigned char>(byte)));
  }
  for (std::size_t i = 0; i + 1 < ids_.size(); ++i) {
    candidates_.push_back(model_->merge_of(ids_[i], ids_[i + 1]));
  }
  while (!candidates_.empty()) {
    const auto best = std::min_element(candidates_.begin(), candidates_.end(),
                                       [](const Merge& a, const Merge& b) { return a.rank < b.rank; });
    if (best->rank == Merge::no_rank) {
      break;
    }
    const auto place = best - candidates_.begin();
    ids_[static_cast<std::size_t>(place)] = best->id;
    ids_.erase(ids_.begin() + place + 1);
    candidates_.erase(best);
    const auto index = static_cast<std::size_t>(place);
    if (index > 0) {
      candidates_[index - 1] = model_->merge_of(ids_[index - 1], ids_[index]);
    }
    if (index < candidates_.size()) {
      candidates_[index] = model_->merge_of(ids_[index], ids_[index + 1]);
    }
  }
  out.insert(out.end(), ids_.begin(), ids_.end());
}

void BpeEncoder::merge_by_heap(std::string_view piece, std::vector<std::int32_t>& out) {
  SHARDGPT_REQUIRE(piece.size() < none, "one word of more than 4 GiB without a blank cannot be encoded");
  const auto size = static_cast<std::uint32_t>(piece.size());
  symbols_.resize(size);
  heap_.clear();  // rank and place of possible merges, lowest rank first, then leftmost; entries may be out
                  // of date
  const auto offer = [this](std::uint32_t place) {
    const Symbol& symbol = symbols_[place];
    if (symbol.next != none) {
      const std::uint32_t rank = model_->merge_of(symbol.id, symbols_[symbol.next].id).rank;
      if (rank != Merge::no_rank) {
        heap_.push_back((static_cast<std::uint64_t>(rank) << 32U) | place);
        return true;
      }
    }
    return false;
  };
  for (std::uint32_t i = 0; i < size; ++i) {
    symbols_[i] = {model_->id_of_byte(static_cast<unsigned char>(piece[i])), i == 0 ? none : i - 1,
                   i + 1 == size ? none : i + 1};
  }
  for (std::uint32_t i = 0; i < size; ++i) {
    offer(i);
  }
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const std::uint64_t top = heap_.back();
    heap_.pop_back();
    const auto place = static_cast<std::uint32_t>(top);
    Symbol& left = symbols_[place];
    if (left.id < 0 || left.next == none) {
      continue;  // merged into its left neighbour since, or now the last one
    }
    const Symbol right = symbols_[left.next];
    const Merge merge = model_->merge_of(left.id, right.id);
    if (merge.rank != top >> 32U) {
      continue;  // one of the two has changed since
    }
    symbols_[left.next].id = -1;
    left.id = merge.id;
    left.next = right.next;
    if (right.next != none) {
      symbols_[right.next].previous = place;
    }
    for (const std::uint32_t changed : {left.previous, place}) {
      if (changed != none && offer(changed)) {
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
      }
    }
  }
  for (std::uint32_t place = 0; place != none; place = symbols_[place].next) {
    out.push_back(symbols_[place].id);
  }
  if (size > (1U << 20U)) {  // one huge word must not hold its memory until the end of the run
    symbols_ = {};
    heap_ = {};
  }
}

}  // namespace shardgpt
