#include "train/shard_staging.hpp"

#include <algorithm>

namespace shardgpt {
namespace {

constexpr std::size_t kinds = 3;  // param, m, v

std::size_t total_elements(std::span<const ShardPiece> shards) {
  std::size_t elements = 0;
  for (const ShardPiece& shard : shards) {
    elements += shard.param.size();
  }
  return elements;
}

}  // namespace

std::size_t ShardStaging::bytes(std::size_t elements) {
  return kinds * elements * sizeof(float);
}

ShardStaging::ShardStaging(Device& device, std::span<const ShardPiece> shards)
    : device_(device),
      copy_(device.stream(StreamRole::copy)),
      memory_(device.allocate_host(bytes(total_elements(shards)), "checkpoint staging")),
      shards_(shards.begin(), shards.end()),
      holds_update_(shards.size(), 0),
      begun_(device.make_event()) {
  auto* next = memory_.as<float>();
  const auto take = [&next](std::size_t elements) {
    const std::span<float> taken(next, elements);
    next += elements;
    return taken;
  };
  for (const ShardPiece& shard : shards_) {
    const std::size_t elements = shard.param.size();
    copies_.push_back({shard.unit, shard.begin, take(elements), take(elements), take(elements)});
    copied_.push_back(device.make_event());
  }
}

void ShardStaging::begin() {
  std::ranges::fill(holds_update_, 0);
}

void ShardStaging::copy_unit(std::int64_t unit, const Event& updated) {
  const auto index = static_cast<std::size_t>(unit);
  const ShardPiece& from = shards_[index];
  const ShardPiece& to = copies_[index];
  copy_.wait(updated, "unit updated");
  if (index == 0) {
    copy_.record(*begun_);
  }
  device_.download(to.param.data(), from.param.data(), from.param.size_bytes(), copy_);
  device_.download(to.adam_m.data(), from.adam_m.data(), from.adam_m.size_bytes(), copy_);
  device_.download(to.adam_v.data(), from.adam_v.data(), from.adam_v.size_bytes(), copy_);
  copy_.record(*copied_[index]);
  holds_update_[index] = 1;
}

void ShardStaging::before_update(std::int64_t unit, Stream& compute) {
  const auto index = static_cast<std::size_t>(unit);
  if (holds_update_[index] != 0) {
    compute.wait(*copied_[index], "unit staged");
    holds_update_[index] = 0;
  }
}

void ShardStaging::wait() const {
  copied_.back()->synchronize();  // the copy stream is in order
}

double ShardStaging::copy_seconds() const {
  return copied_.back()->seconds_since(*begun_);
}

}  // namespace shardgpt
