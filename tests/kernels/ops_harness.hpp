#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/bf16.hpp"
#include "core/dtype.hpp"
#include "device/host/host_device.hpp"
#include "kernels/ops.hpp"
#include "random_values.hpp"

namespace shardgpt::test {

/// One set of operations and its device.
struct Implementation {
  std::string name;
  std::unique_ptr<Device> device;
  std::unique_ptr<Ops> ops;  // after the device: it holds memory of it

  [[nodiscard]] Stream& compute() const { return device->stream(StreamRole::compute); }
};

/// Values in device memory. Reading waits for the compute stream.
template <class T>
class OnDevice {
 public:
  OnDevice(const Implementation& on, const std::vector<T>& values)
      : on_(&on),
        count_(values.size()),
        buffer_(on.device->allocate(std::max(sizeof(T), values.size() * sizeof(T)), "test")) {
    on.device->upload(data(), values.data(), values.size() * sizeof(T), on.compute());
  }
  [[nodiscard]] T* data() const { return buffer_.template as<T>(); }
  [[nodiscard]] std::vector<T> read() const {
    const Buffer staging = on_->device->allocate_host(buffer_.bytes(), "test");
    on_->device->download(staging.data(), data(), buffer_.bytes(), on_->compute());
    on_->compute().synchronize();
    return {staging.template as<T>(), staging.template as<T>() + count_};
  }

 private:
  const Implementation* on_;
  std::size_t count_;
  Buffer buffer_;
};

/// The same for values of the element type of the operations.
class Typed {
 public:
  Typed(const Implementation& on, const std::vector<double>& values)
      : type_(on.ops->dtype()), floats_(on, rounded<float>(values)), halves_(on, rounded<bf16>(values)) {}
  [[nodiscard]] void* data() const {
    return type_ == DType::f32 ? static_cast<void*>(floats_.data()) : static_cast<void*>(halves_.data());
  }
  [[nodiscard]] Matrix matrix(std::int64_t rows, std::int64_t cols) const { return {data(), rows, cols}; }
  [[nodiscard]] std::vector<double> values() const {
    return type_ == DType::f32 ? widened(floats_.read()) : widened(halves_.read());
  }

 private:
  template <class T>
  static std::vector<T> rounded(const std::vector<double>& values) {
    std::vector<T> result;
    for (const double value : values) {
      result.push_back(T(static_cast<float>(value)));
    }
    return result;
  }
  template <class T>
  static std::vector<double> widened(const std::vector<T>& values) {
    std::vector<double> result;
    for (const T value : values) {
      result.push_back(static_cast<double>(static_cast<float>(value)));
    }
    return result;
  }

  DType type_;
  OnDevice<float> floats_;
  OnDevice<bf16> halves_;
};

inline Implementation make_reference(DType dtype) {
  Implementation made{"reference", make_host_device({.compute_threads = 1, .hooks = nullptr}), nullptr};
  made.ops = make_reference_ops(*made.device, dtype, {});
  return made;
}

/// The implementations that a test program is about, in every way in which this machine can run them. Each
/// program defines its own.
[[nodiscard]] std::vector<Implementation> tested_implementations(DType dtype, const OpsLimits& limits);

}  // namespace shardgpt::test
