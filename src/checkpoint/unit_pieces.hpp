#pragma once

#include <cstdint>
#include <span>

#include "checkpoint/layout.hpp"

namespace shardgpt {

/// This rank's run of elements of one unit: logical elements, without padding, starting at `begin` of the
/// unit's flat buffer. May be empty; a rank may also bring no piece or several of a unit.
template <class T>
struct BasicUnitPiece {
  std::int64_t unit = 0;  ///< index into TensorTable::units()
  std::int64_t begin = 0;
  std::span<T> param;
  std::span<T> adam_m;  ///< as long as param; empty where only parameters are loaded
  std::span<T> adam_v;

  [[nodiscard]] std::span<T> values(StateKind kind) const {
    return kind == StateKind::param ? param : kind == StateKind::adam_m ? adam_m : adam_v;
  }
};
using UnitPiece = BasicUnitPiece<const float>;
using MutableUnitPiece = BasicUnitPiece<float>;

}  // namespace shardgpt
