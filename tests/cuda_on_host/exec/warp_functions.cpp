#include "tests/cuda_on_host/exec/warp_functions.hpp"

#include <bit>
#include <cstring>

#include "tests/cuda_on_host/exec/kernel_calls.hpp"
#include "tests/cuda_on_host/exec/ready_set.hpp"

namespace cuda_on_host {

namespace {

constexpr std::uint32_t all_lanes = 0xffffffffU;

struct Exchange {
  std::uint64_t value;
  unsigned source_lane;
  std::uint64_t result;
};

void do_exchange(void* const* lane_data, std::uint32_t mask) {
  for (unsigned lane = 0; lane < lanes_of_warp; ++lane) {
    if ((mask >> lane & 1U) != 0) {
      auto& own = *static_cast<Exchange*>(lane_data[lane]);
      const auto* const other = static_cast<const Exchange*>(lane_data[own.source_lane]);
      own.result = other == nullptr ? ~std::uint64_t{0} : other->value;
    }
  }
}

void do_ballot(void* const* lane_data, std::uint32_t mask) {
  std::uint32_t result = 0;
  for (unsigned lane = 0; lane < lanes_of_warp; ++lane) {
    if ((mask >> lane & 1U) != 0 && *static_cast<const std::uint32_t*>(lane_data[lane]) != 0) {
      result |= 1U << lane;
    }
  }
  for (unsigned lane = 0; lane < lanes_of_warp; ++lane) {
    if ((mask >> lane & 1U) != 0) {
      *static_cast<std::uint32_t*>(lane_data[lane]) = result;
    }
  }
}

float low_half(std::uint32_t pair) {
  return std::bit_cast<float>(pair << 16);
}

float high_half(std::uint32_t pair) {
  return std::bit_cast<float>(pair & 0xffff0000U);
}

struct Fragments {
  float* d;
  const std::uint32_t* a;
  const std::uint32_t* b;
};

void do_multiply_accumulate(void* const* lane_data, std::uint32_t /*mask*/) {
  constexpr int m = 16;
  constexpr int n = 8;
  constexpr int k = 16;
  float a[m][k];
  float b[k][n];
  float d[m][n];
  for (unsigned lane = 0; lane < lanes_of_warp; ++lane) {
    const auto& own = *static_cast<const Fragments*>(lane_data[lane]);
    const unsigned g = lane / 4;
    const unsigned t = lane % 4 * 2;
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = g + i % 2 * 8;
      const unsigned column = t + i / 2 * 8;
      a[row][column] = low_half(own.a[i]);
      a[row][column + 1] = high_half(own.a[i]);
      d[g + i / 2 * 8][t + i % 2] = own.d[i];
    }
    for (unsigned i = 0; i < 2; ++i) {
      b[t + i * 8][g] = low_half(own.b[i]);
      b[t + i * 8 + 1][g] = high_half(own.b[i]);
    }
  }
  for (int row = 0; row < m; ++row) {
    for (int i = 0; i < k; ++i) {
      for (int column = 0; column < n; ++column) {
        d[row][column] += a[row][i] * b[i][column];
      }
    }
  }
  for (unsigned lane = 0; lane < lanes_of_warp; ++lane) {
    const auto& own = *static_cast<const Fragments*>(lane_data[lane]);
    for (unsigned i = 0; i < 4; ++i) {
      own.d[i] = d[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2];
    }
  }
}

struct MatrixRow {
  std::uint16_t values[8];
  std::uint32_t* result;
};

std::uint32_t pair_of(std::uint16_t low, std::uint16_t high) {
  return static_cast<std::uint32_t>(low) | static_cast<std::uint32_t>(high) << 16;
}

void do_load_matrices(void* const* lane_data, std::uint32_t /*mask*/) {
  for (unsigned lane = 0; lane < lanes_of_warp; ++lane) {
    for (unsigned i = 0; i < 4; ++i) {
      const auto& row = *static_cast<const MatrixRow*>(lane_data[i * 8 + lane / 4]);
      const unsigned column = lane % 4 * 2;
      static_cast<const MatrixRow*>(lane_data[lane])->result[i] =
          pair_of(row.values[column], row.values[column + 1]);
    }
  }
}

void do_load_transposed(void* const* lane_data, std::uint32_t /*mask*/) {
  for (unsigned lane = 0; lane < lanes_of_warp; ++lane) {
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = i * 8 + lane % 4 * 2;
      const unsigned column = lane / 4;
      static_cast<const MatrixRow*>(lane_data[lane])->result[i] =
          pair_of(static_cast<const MatrixRow*>(lane_data[row])->values[column],
                  static_cast<const MatrixRow*>(lane_data[row + 1])->values[column]);
    }
  }
}

}  // namespace

unsigned lane_of_thread() {
  return kernel_context.thread->number % lanes_of_warp;
}

std::uint64_t exchange(std::uint32_t mask, std::uint64_t value, unsigned source_lane,
                       const SourcePlace& where) {
  Exchange own{value, source_lane, 0};
  warp_operation(mask, do_exchange, &own, /*orders_memory=*/false, where);
  return own.result;
}

std::uint32_t ballot(std::uint32_t mask, bool predicate, const SourcePlace& where) {
  std::uint32_t own = predicate ? 1 : 0;
  warp_operation(mask, do_ballot, &own, /*orders_memory=*/false, where);
  return own;
}

void multiply_accumulate(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                         const SourcePlace& where) {
  Fragments own{d, a, b};
  warp_operation(all_lanes, do_multiply_accumulate, &own, /*orders_memory=*/false, where);
}

void load_matrices(std::uint32_t (&r)[4], const void* shared_row, bool transposed, const SourcePlace& where) {
  MatrixRow own{};
  own.result = r;
  std::memcpy(own.values, shared_row, sizeof own.values);
  warp_operation(all_lanes, transposed ? do_load_transposed : do_load_matrices, &own, /*orders_memory=*/false,
                 where);
}

}  // namespace cuda_on_host
