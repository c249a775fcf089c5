#include "checkpoint/fragment_exchange.hpp"

#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace shardgpt {
namespace {

static_assert(std::is_trivially_copyable_v<TensorFragment>);

std::span<const float> part_of(const UnitPiece& piece, StateKind kind, const TensorSpec& tensor,
                               const TensorFragment& fragment) {
  const std::int64_t first = tensor.offset + fragment.begin - piece.begin;
  return piece.values(kind).subspan(static_cast<std::size_t>(first),
                                    static_cast<std::size_t>(fragment.count));
}

}  // namespace

void check_piece(const TensorTable& table, const UnitPiece& piece, std::size_t kinds) {
  const auto units = static_cast<std::int64_t>(table.units().size());
  if (piece.unit < 0 || piece.unit >= units) {
    throw std::logic_error("checkpoint piece of unit " + std::to_string(piece.unit) + " of " +
                           std::to_string(units));
  }
  const UnitSpec& unit = table.units()[static_cast<std::size_t>(piece.unit)];
  const auto count = static_cast<std::int64_t>(piece.param.size());
  if (count > 0 && (piece.begin < 0 || piece.begin > unit.elements || count > unit.elements - piece.begin)) {
    throw std::logic_error("checkpoint piece of " + unit.name + ": elements " + std::to_string(piece.begin) +
                           " to " + std::to_string(piece.begin + count) + " of " +
                           std::to_string(unit.elements));
  }
  for (const StateKind kind : first_kinds(kinds)) {
    if (piece.values(kind).size() != piece.param.size()) {
      throw std::logic_error("checkpoint piece of " + unit.name + ": " + std::string(state_kind_name(kind)) +
                             " has " + std::to_string(piece.values(kind).size()) + " elements, param has " +
                             std::to_string(piece.param.size()));
    }
  }
}

std::vector<TensorFragment> piece_fragments(const TensorTable& table, std::span<const UnitPiece> pieces) {
  std::vector<TensorFragment> all;
  for (const UnitPiece& piece : pieces) {
    const auto own =
        fragments_of(table, piece.unit, piece.begin, static_cast<std::int64_t>(piece.param.size()));
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

void add_checksums(std::vector<TensorFragment>& fragments, const TensorTable& table,
                   std::span<const UnitPiece> pieces, std::int64_t unit, StateKind kind) {
  auto fragment = fragments.begin();
  for (const UnitPiece& piece : pieces) {
    for (const TensorFragment& own :
         fragments_of(table, piece.unit, piece.begin, static_cast<std::int64_t>(piece.param.size()))) {
      if (piece.unit == unit) {
        const TensorSpec& tensor = table.tensors()[static_cast<std::size_t>(own.tensor)];
        fragment->crc[static_cast<std::size_t>(kind)] = crc32_of(part_of(piece, kind, tensor, own));
      }
      ++fragment;
    }
  }
}

std::vector<TensorFragment> exchange_fragments(const MpiComm& comm, const std::vector<TensorFragment>& own) {
  std::string packed(own.size() * sizeof(TensorFragment), '\0');
  if (!own.empty()) {
    std::memcpy(packed.data(), own.data(), packed.size());
  }
  std::vector<TensorFragment> all;
  for (const std::string& of_rank : comm.all_gather(packed)) {
    std::vector<TensorFragment> fragments(of_rank.size() / sizeof(TensorFragment));
    if (!fragments.empty()) {
      std::memcpy(fragments.data(), of_rank.data(), of_rank.size());
    }
    all.insert(all.end(), fragments.begin(), fragments.end());
  }
  return all;
}

}  // namespace shardgpt
