#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace shardgpt {

/// What two neighbouring tokens merge into, and how early.
struct Merge {
  static constexpr std::uint32_t no_rank = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t rank = no_rank;  ///< place in merges.txt; lower goes first; no_rank: these two do not merge
  std::int32_t id = -1;
};

/// Hash table from pairs of token ids to values: flat and with linear probing, since encoding and training
/// spend their time here.
template <class Value>
class PairTable {
 public:
  explicit PairTable(std::size_t expected) {
    std::size_t slots = 16;
    while (slots < 2 * expected) {
      slots *= 2;
    }
    slots_.resize(slots);
  }

  /// False where the pair is there already.
  bool insert(std::int32_t left, std::int32_t right, const Value& value) {
    const std::size_t before = count_;
    find_or_insert(left, right, value);
    return count_ != before;
  }

  /// The pair's value; `value` where it had none, from now on its own.
  Value find_or_insert(std::int32_t left, std::int32_t right, const Value& value) {
    const std::uint64_t key = key_of(left, right);
    Slot& slot = slots_[find_slot(key)];
    if (slot.key == key) {
      return slot.value;
    }
    slot = {key, value};
    if (2 * ++count_ > slots_.size()) {
      grow();
    }
    return value;
  }

  /// Value{} where the pair has none.
  [[nodiscard]] Value find(std::int32_t left, std::int32_t right) const {
    const std::uint64_t key = key_of(left, right);
    const Slot& slot = slots_[find_slot(key)];
    return slot.key == key ? slot.value : Value{};
  }

 private:
  static constexpr std::uint64_t empty = std::numeric_limits<std::uint64_t>::max();
  struct Slot {
    std::uint64_t key = empty;
    Value value{};
  };

  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return (static_cast<std::uint64_t>(left) << 32U) | static_cast<std::uint32_t>(right);
  }
  [[nodiscard]] std::size_t find_slot(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t index = static_cast<std::size_t>((key * 0x9e3779b97f4a7c15U) >> 32U) & mask;
    while (slots_[index].key != key && slots_[index].key != empty) {
      index = (index + 1) & mask;
    }
    return index;
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.key != empty) {
        slots_[find_slot(slot.key)] = slot;
      }
    }
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace shardgpt
