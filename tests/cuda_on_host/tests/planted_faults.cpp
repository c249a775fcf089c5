/// planted_faults [--list]
/// planted_faults FAULT: runs one kernel with one mistake. Exit code 0: the result was right and nothing was
/// reported; 3: a report, printed; 4: the result was wrong. What a sanitizer finds ends the program in its
/// own way.

#include <array>
#include <cstdio>
#include <exception>
#include <string_view>

#include "tests/cuda_on_host/exec/fault.hpp"
#include "tests/cuda_on_host/tests/example_cases.hpp"
#include "tests/cuda_on_host/tests/faulty_kernels.hpp"

namespace {

using namespace shardgpt::cuda::examples;  // NOLINT(google-build-using-namespace)

constexpr int exit_reported = 3;
constexpr int exit_wrong = 4;

struct Planted {
  std::string_view name;
  Fault fault;
  double (*error)(Fault fault);
};

double error_of_layer_norm(Fault fault) {
  const auto kernel = [fault](auto... arguments) { layer_norm(fault, arguments...); };
  // Smaller than 1e-5 where the kernel is right.
  return layer_norm_error(kernel, 3, 200) < 1e-5 ? 0.0 : 1.0;
}

double error_of_product(Fault fault) {
  return product_error([fault](auto... arguments) { product(fault, arguments...); }, 64, 64, 96);
}

double error_of_product_async(Fault fault) {
  return product_error([fault](auto... arguments) { product_async(fault, arguments...); }, 64, 64, 128);
}

double error_of_exchange(Fault fault) {
  return exchange_error([fault](auto... arguments) { warp_exchange(fault, arguments...); }, 200);
}

constexpr std::array planted_faults{
    Planted{"none_layer_norm", Fault::none, error_of_layer_norm},
    Planted{"none_product", Fault::none, error_of_product},
    Planted{"none_product_async", Fault::none, error_of_product_async},
    Planted{"none_warp_exchange", Fault::none, error_of_exchange},
    Planted{"skipped_barrier", Fault::skipped_barrier, error_of_layer_norm},
    Planted{"different_barriers", Fault::different_barriers, error_of_layer_norm},
    Planted{"missing_lanes", Fault::missing_lanes, error_of_layer_norm},
    Planted{"missing_barrier", Fault::missing_barrier, error_of_layer_norm},
    Planted{"read_past_global", Fault::read_past_global, error_of_layer_norm},
    Planted{"read_past_shared", Fault::read_past_shared, error_of_layer_norm},
    Planted{"local_array_overflow", Fault::local_array_overflow, error_of_layer_norm},
    Planted{"blocks_write_one_place", Fault::blocks_write_one_place, error_of_layer_norm},
    Planted{"missing_second_barrier", Fault::missing_second_barrier, error_of_product},
    Planted{"short_dynamic_shared", Fault::short_dynamic_shared, error_of_product},
    Planted{"misaligned_load", Fault::misaligned_load, error_of_product},
    Planted{"waits_one_group_short", Fault::waits_one_group_short, error_of_product_async},
    Planted{"refill_without_barrier", Fault::refill_without_barrier, error_of_product_async},
    Planted{"no_barrier_after_wait", Fault::no_barrier_after_wait, error_of_product_async},
    Planted{"copies_not_awaited", Fault::copies_not_awaited, error_of_product_async},
    Planted{"missing_warp_barrier", Fault::missing_warp_barrier, error_of_exchange},
    Planted{"plain_increment", Fault::plain_increment, error_of_exchange},
};

int run(const Planted& planted) {
  try {
    const double error = planted.error(planted.fault);
    std::printf("error %g\n", error);
    return error == 0.0 ? 0 : exit_wrong;
  } catch (const cuda_on_host::KernelFault& fault) {
    std::printf("reported: %s\n", fault.what());
    return exit_reported;
  } catch (const std::exception& error) {
    std::printf("failed: %s\n", error.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    return 2;
  }
  const std::string_view name = argv[1];
  for (const Planted& planted : planted_faults) {
    if (name == "--list") {
      std::printf("%s\n", planted.name.data());
    } else if (name == planted.name) {
      return run(planted);
    }
  }
  return name == "--list" ? 0 : 2;
}
