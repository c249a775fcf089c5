#include "checkpoint/layout.hpp"

namespace shardgpt {

std::string_view state_kind_name(StateKind kind) {
  switch (kind) {
    case StateKind::param:
      return "param";
    case StateKind::adam_m:
      return "adam_m";
    case StateKind::adam_v:
      break;
  }
  return "adam_v";
}

namespace layout {

std::string unit_group(const std::string& unit) {
  return std::string(units) + "/" + unit;
}

std::string unit_dataset(const std::string& unit, StateKind kind) {
  return unit_group(unit) + "/" + std::string(state_kind_name(kind));
}

std::string kind_checksums(StateKind kind) {
  return std::string(checksums) + "/" + std::string(state_kind_name(kind));
}

}  // namespace layout
}  // namespace shardgpt
