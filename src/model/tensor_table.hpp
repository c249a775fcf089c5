#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/model_config.hpp"

namespace shardgpt {

/// How a tensor starts: all zeros, all ones, or normal with mean 0 and `std_dev`.
struct Initializer {
  enum class Kind { zeros, ones, normal };
  Kind kind = Kind::zeros;
  double std_dev = 0;
};

/// One parameter. The table of all of them is the only place that knows names, shapes, decay and initial
/// values.
struct TensorSpec {
  std::string name;                 ///< Hugging Face name: "transformer.h.0.attn.c_attn.weight"
  std::vector<std::int64_t> shape;  ///< linear weights are [in, out], as Hugging Face's Conv1D stores them
  std::int64_t unit = 0;            ///< index into TensorTable::units()
  std::int64_t offset = 0;          ///< first element inside the unit's flat buffer
  std::int64_t elements = 0;
  bool decay = false;  ///< weight decay by default: tensors of two or more dimensions
  Initializer init;
};

/// A group of tensors that is sharded, gathered and reduced as one flat buffer, tensors without gaps in table
/// order.
struct UnitSpec {
  std::string name;  ///< "root" or "h.0", "h.1", ...
  std::int64_t elements = 0;
  std::int64_t first_tensor = 0;  ///< index into TensorTable::tensors()
  std::int64_t tensor_count = 0;
};

/// Unit 0 is the root (wpe, ln_f, and the tied wte last, so that vocabulary padding can follow it); unit 1 +
/// i is block i.
class TensorTable {
 public:
  /// `config` must be valid.
  explicit TensorTable(const ModelConfig& config);

  [[nodiscard]] const ModelConfig& config() const { return config_; }
  [[nodiscard]] std::span<const TensorSpec> tensors() const { return tensors_; }
  [[nodiscard]] std::span<const UnitSpec> units() const { return units_; }
  [[nodiscard]] std::span<const TensorSpec> tensors_of(const UnitSpec& unit) const;
  /// Throws std::out_of_range for an unknown name.
  [[nodiscard]] const TensorSpec& tensor(const std::string& name) const;
  /// Parameters of the model, the tied table counted once.
  [[nodiscard]] std::int64_t parameters() const;

 private:
  void begin_unit(std::string name);
  void add(std::string name, std::vector<std::int64_t> shape, Initializer init);

  ModelConfig config_;
  std::vector<TensorSpec> tensors_;
  std::vector<UnitSpec> units_;
};

/// Writes the initial values of elements [begin, begin + out.size()) of `tensor`. A pure function of (seed,
/// tensor index, element), so any rank can make any piece.
void initialize_tensor(const TensorTable& table, std::int64_t tensor_index, std::uint64_t seed,
                       std::int64_t begin, std::span<float> out);

/// The same for elements [begin, begin + out.size()) of a unit's flat buffer; elements past the unit's end
/// are zero.
void initialize_unit_piece(const TensorTable& table, std::int64_t unit, std::uint64_t seed,
                           std::int64_t begin, std::span<float> out);

}  // namespace shardgpt
