#include "model/tensor_table.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "core/checked.hpp"
#include "core/philox.hpp"

namespace shardgpt {

TensorTable::TensorTable(const ModelConfig& config) : config_(config) {
  using Kind = Initializer::Kind;
  constexpr double std_dev = 0.02;  // Radford et al. 2019
  const Initializer zeros{Kind::zeros, 0};
  const Initializer ones{Kind::ones, 0};
  const Initializer normal{Kind::normal, std_dev};
  // Projections onto the residual stream are scaled by 1 / sqrt(number of residual layers), two per block.
  const Initializer residual{Kind::normal, std_dev / std::sqrt(2.0 * static_cast<double>(config.layers))};
  const std::int64_t width = config.embd;

  begin_unit("root");
  add("transformer.wpe.weight", {config.positions, width}, normal);
  add("transformer.ln_f.weight", {width}, ones);
  add("transformer.ln_f.bias", {width}, zeros);
  add("transformer.wte.weight", {config.vocab, width}, normal);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string short_name = "h." + std::to_string(layer);
    const std::string prefix = "transformer." + short_name + ".";
    begin_unit(short_name);
    add(prefix + "ln_1.weight", {width}, ones);
    add(prefix + "ln_1.bias", {width}, zeros);
    add(prefix + "attn.c_attn.weight", {width, 3 * width}, normal);
    add(prefix + "attn.c_attn.bias", {3 * width}, zeros);
    add(prefix + "attn.c_proj.weight", {width, width}, residual);
    add(prefix + "attn.c_proj.bias", {width}, zeros);
    add(prefix + "ln_2.weight", {width}, ones);
    add(prefix + "ln_2.bias", {width}, zeros);
    add(prefix + "mlp.c_fc.weight", {width, 4 * width}, normal);
    add(prefix + "mlp.c_fc.bias", {4 * width}, zeros);
    add(prefix + "mlp.c_proj.weight", {4 * width, width}, residual);
    add(prefix + "mlp.c_proj.bias", {width}, zeros);
  }
}

void TensorTable::begin_unit(std::string name) {
  units_.push_back({std::move(name), 0, static_cast<std::int64_t>(tensors_.size()), 0});
}

void TensorTable::add(std::string name, std::vector<std::int64_t> shape, Initializer init) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) {
    elements = checked_mul(elements, extent);
  }
  UnitSpec& unit = units_.back();
  const bool decay = shape.size() >= 2;
  tensors_.push_back({std::move(name), std::move(shape), static_cast<std::int64_t>(units_.size()) - 1,
                      unit.elements, elements, decay, init});
  unit.elements = checked_add(unit.elements, elements);
  ++unit.tensor_count;
}

std::span<const TensorSpec> TensorTable::tensors_of(const UnitSpec& unit) const {
  return std::span(tensors_).subspan(static_cast<std::size_t>(unit.first_tensor),
                                     static_cast<std::size_t>(unit.tensor_count));
}

const TensorSpec& TensorTable::tensor(const std::string& name) const {
  const auto found = std::ranges::find(tensors_, name, &TensorSpec::name);
  if (found == tensors_.end()) {
    throw std::out_of_range("no tensor named " + name);
  }
  return *found;
}

std::int64_t TensorTable::parameters() const {
  std::int64_t sum = 0;
  for (const UnitSpec& unit : units_) {
    sum = checked_add(sum, unit.elements);
  }
  return sum;
}

void initialize_tensor(const TensorTable& table, std::int64_t tensor_index, std::uint64_t seed,
                       std::int64_t begin, std::span<float> out) {
  const TensorSpec& tensor = table.tensors()[static_cast<std::size_t>(tensor_index)];
  switch (tensor.init.kind) {
    case Initializer::Kind::zeros:
      std::ranges::fill(out, 0.0F);
      return;
    case Initializer::Kind::ones:
      std::ranges::fill(out, 1.0F);
      return;
    case Initializer::Kind::normal:
      break;
  }
  const RandomStream random(seed, RandomPurpose::weight_init, narrow<std::uint32_t>(tensor_index));
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<float>(random.normal(static_cast<std::uint64_t>(begin) + i) * tensor.init.std_dev);
  }
}

void initialize_unit_piece(const TensorTable& table, std::int64_t unit, std::uint64_t seed,
                           std::int64_t begin, std::span<float> out) {
  std::ranges::fill(out, 0.0F);
  const UnitSpec& spec = table.units()[static_cast<std::size_t>(unit)];
  const std::int64_t end = begin + static_cast<std::int64_t>(out.size());
  for (std::int64_t i = 0; i < spec.tensor_count; ++i) {
    const std::int64_t index = spec.first_tensor + i;
    const TensorSpec& tensor = table.tensors()[static_cast<std::size_t>(index)];
    const std::int64_t first = std::max(begin, tensor.offset);
    const std::int64_t last = std::min(end, tensor.offset + tensor.elements);
    if (first < last) {
      initialize_tensor(
          table, index, seed, first - tensor.offset,
          out.subspan(static_cast<std::size_t>(first - begin), static_cast<std::size_t>(last - first)));
    }
  }
}

}  // namespace shardgpt
