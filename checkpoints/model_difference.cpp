#include "checkpoints/model_difference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "checkpoints/forward_pass.hpp"
#include "core/philox.hpp"

namespace shardgpt {
namespace {

void round_to(WeightType type, std::span<float> values, const std::string& name) {
  if (type == WeightType::f32) {
    return;
  }
  std::vector<std::byte> raw(values.size() * weight_type_bytes(type));
  encode_weights(type, values, raw, name);
  decode_weights(type, raw, values);
}

/// Reads units of `source`, each tensor rounded to the type that `like` stores it in.
ReadUnit unit_reader(const WeightSource& source, const WeightSource& like) {
  return [&source, &like](std::int64_t unit, std::span<float> values) {
    const TensorTable& table = source.table();
    for (const TensorSpec& tensor : table.tensors_of(table.units()[static_cast<std::size_t>(unit)])) {
      auto rest = values.subspan(static_cast<std::size_t>(tensor.offset));
      source.stream(tensor, [&](std::span<const float> piece) {
        std::ranges::copy(piece, rest.begin());
        round_to(like.type_of(like.table().tensor(tensor.name)), rest.first(piece.size()), tensor.name);
        rest = rest.subspan(piece.size());
      });
    }
  };
}

/// First and last id of the vocabulary, then any.
std::vector<std::int32_t> probe_tokens(std::int64_t vocab, std::int64_t count) {
  const RandomStream random(0, RandomPurpose::test, 0);
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto any = static_cast<std::int64_t>(random.words(static_cast<std::uint64_t>(i))[0]) % vocab;
    tokens.push_back(static_cast<std::int32_t>(i == 0 ? vocab - 1 : i == 1 ? 0 : any));
  }
  return tokens;
}

/// |a - b|; not finite counts as infinite unless both are the same infinity.
double distance(float a, float b) {
  const double difference = std::abs(static_cast<double>(a) - static_cast<double>(b));
  return a == b ? 0 : std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
}

struct TensorDifference {
  double largest = 0;
  double largest_of_transpose = 0;  ///< against the transpose; for square matrices
};

TensorDifference difference_of(const WeightSource& a, const WeightSource& b, const TensorSpec& tensor) {
  const TensorSpec& other = b.table().tensor(tensor.name);
  std::vector<float> values;
  read_tensor(a, tensor, values);
  round_to(b.type_of(other), values, tensor.name);
  const bool square = tensor.shape.size() == 2 && tensor.shape[0] == tensor.shape[1];
  const auto side = static_cast<std::size_t>(tensor.shape[0]);
  TensorDifference found;
  std::size_t at = 0;
  b.stream(other, [&](std::span<const float> piece) {
    for (const float value : piece) {
      found.largest = std::max(found.largest, distance(values[at], value));
      if (square) {
        const float mirrored = values[at % side * side + at / side];
        found.largest_of_transpose = std::max(found.largest_of_transpose, distance(mirrored, value));
      }
      ++at;
    }
  });
  if (!square) {
    found.largest_of_transpose = std::numeric_limits<double>::infinity();
  }
  return found;
}

}  // namespace

LogitDifference compare_logits(const WeightSource& a, const WeightSource& b, std::int64_t tokens) {
  const std::int64_t vocab = a.table().config().vocab;
  const std::vector<std::int32_t> ids = probe_tokens(vocab, tokens);
  const std::vector<float> left = forward_logits(a.table(), unit_reader(a, b), ids);
  const std::vector<float> right = forward_logits(b.table(), unit_reader(b, b), ids);
  LogitDifference found;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const double apart = distance(left[i], right[i]);
    if (apart > found.largest) {
      found.largest = apart;
      found.position = static_cast<std::int64_t>(i) / vocab;
      found.token = static_cast<std::int64_t>(i) % vocab;
    }
    found.largest_logit = std::max(found.largest_logit, static_cast<double>(std::abs(left[i])));
  }
  return found;
}

std::vector<std::string> differing_tensors(const WeightSource& a, const WeightSource& b) {
  std::vector<std::string> lines;
  for (const TensorSpec& tensor : a.table().tensors()) {
    const TensorDifference found = difference_of(a, b, tensor);
    if (found.largest > 0 && found.largest_of_transpose == 0) {
      lines.push_back(tensor.name + " is transposed");
    } else if (found.largest > 0) {
      std::array<char, 32> number{};
      std::snprintf(number.data(), number.size(), "%.3g", found.largest);
      lines.push_back(tensor.name + " differs by up to " + number.data());
    }
  }
  return lines;
}

}  // namespace shardgpt
