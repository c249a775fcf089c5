#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checksums.hpp"
#include "checkpoint/unit_pieces.hpp"
#include "dist/mpi/mpi_session.hpp"
#include "h5/h5_parallel.hpp"

namespace shardgpt {

/// The first `kinds` of state_kinds.
[[nodiscard]] inline std::span<const StateKind> first_kinds(std::size_t kinds) {
  return std::span(state_kinds).first(kinds);
}

/// Throws std::logic_error where a piece lies outside its unit or its spans differ in length.
void check_piece(const TensorTable& table, const UnitPiece& piece, std::size_t kinds);

[[nodiscard]] inline UnitPiece as_const_piece(const UnitPiece& piece) {
  return piece;
}
[[nodiscard]] inline UnitPiece as_const_piece(const MutableUnitPiece& piece) {
  return {piece.unit, piece.begin, piece.param, piece.adam_m, piece.adam_v};
}

/// This rank's pieces, cut at the tensors' edges; checksums are left zero. Local.
[[nodiscard]] std::vector<TensorFragment> piece_fragments(const TensorTable& table,
                                                          std::span<const UnitPiece> pieces);

/// Computes the checksums of one unit and kind in what piece_fragments gave for the same pieces. Local.
void add_checksums(std::vector<TensorFragment>& fragments, const TensorTable& table,
                   std::span<const UnitPiece> pieces, std::int64_t unit, StateKind kind);

/// The fragments of all ranks, on all ranks, in rank order. Collective.
[[nodiscard]] std::vector<TensorFragment> exchange_fragments(const MpiComm& comm,
                                                             const std::vector<TensorFragment>& own);

/// This rank's chunks of one dataset.
template <class T>
[[nodiscard]] std::vector<FloatChunk<T>> chunks_of(std::span<const BasicUnitPiece<T>> pieces,
                                                   std::int64_t unit, StateKind kind,
                                                   std::int64_t limit_bytes) {
  std::vector<FloatChunk<T>> chunks;
  for (const BasicUnitPiece<T>& piece : pieces) {
    if (piece.unit == unit) {
      append_chunks(chunks, piece.begin, piece.values(kind), limit_bytes);
    }
  }
  return chunks;
}

}  // namespace shardgpt
