#include "train/devices.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "core/error.hpp"
#include "core/log.hpp"
#include "core/this_process.hpp"
#include "device/host/host_device.hpp"
#include "dist/mpi/mpi_collectives.hpp"
#include "train/cuda_backend.hpp"

namespace shardgpt {
namespace {

/// A hash of cores, to see whether ranks of a node share them.
std::uint64_t hash_of(const std::vector<int>& cores) {
  std::uint64_t hash = 1469598103934665603U;  // FNV-1a
  for (const int core : cores) {
    hash = (hash ^ static_cast<std::uint64_t>(core)) * 1099511628211U;
  }
  return hash;
}

/// OMP_NUM_THREADS, of a list the first; 0: not set, -1: no such number.
int openmp_threads() {
  const char* given = std::getenv("OMP_NUM_THREADS");
  if (given == nullptr || *given == '\0') {
    return 0;
  }
  char* end = nullptr;
  const long value = std::strtol(given, &end, 10);
  return end != given && (*end == '\0' || *end == ',') && value > 0 && value <= 4096 ? static_cast<int>(value)
                                                                                     : -1;
}

/// The variables by which a launcher hands GPUs to a job.
std::string gpus_given_by() {
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0' && std::string(value) != "NoDevFiles" &&
        std::string(value) != "-1") {
      return std::string(name) + "=" + value;
    }
  }
  return {};
}

/// What the choice leaves out. Throws InputError.
void require_possible(const DeviceOptions& options, DeviceKind kind) {
  if (kind == DeviceKind::cuda) {
    SHARDGPT_REQUIRE(options.kernels == "auto",
                     "--kernels " + options.kernels + " computes on CPUs only: add --device cpu");
    SHARDGPT_REQUIRE(!options.cpu_offload, "--cpu-offload: this version keeps all state on the CUDA device");
    return;
  }
  SHARDGPT_REQUIRE(options.threads > 0 || openmp_threads() >= 0,
                   std::string("OMP_NUM_THREADS is '") + std::getenv("OMP_NUM_THREADS") +
                       "', wanted a positive number; or give --threads");
  SHARDGPT_REQUIRE(!options.cpu_offload, "--cpu-offload has a meaning on CUDA devices only");
}

/// What is left where not every rank has a CUDA device. Throws InputError where that is not what was wanted.
void require_cpu_is_meant(const DeviceOptions& options, const std::string& refusal) {
  SHARDGPT_REQUIRE(options.device != "cuda", "--device cuda: " + refusal);
  const std::string gpus = gpus_given_by();
  const std::string reason = cuda_backend::built() ? refusal : "this build has no CUDA";
  SHARDGPT_REQUIRE(gpus.empty(), "the job was given GPUs (" + gpus + ") and " + reason +
                                     ": say --device cpu to leave them unused");
}

}  // namespace

DeviceChoice choose_device(const MpiComm& comm, const DeviceOptions& options) {
  DeviceChoice choice{.kind = DeviceKind::cpu, .cuda_index = 0, .description = "cpu"};
  if (options.device != "cpu") {
    const cuda_backend::Choice cuda = cuda_backend::choose(comm);
    if (cuda.refusal.empty()) {
      choice = {.kind = DeviceKind::cuda, .cuda_index = cuda.index, .description = cuda.name};
    } else {
      run_phase(comm, [&] { require_cpu_is_meant(options, cuda.refusal); });
      if (cuda_backend::built() && comm.rank() == 0) {
        log_info("computing on CPUs: " + cuda.refusal);
      }
    }
  }
  run_phase(comm, [&] { require_possible(options, choice.kind); });
  return choice;
}

int choose_threads(const MpiComm& comm, const DeviceOptions& options) {
  const MpiComm node = comm.split_by_node();
  const std::vector<int> cores = allowed_cores();
  const std::vector<std::uint64_t> masks = node.all_gather(hash_of(cores));
  if (options.threads > 0) {
    return static_cast<int>(options.threads);
  }
  const int from_openmp = openmp_threads();
  if (from_openmp > 0) {
    return from_openmp;
  }
  const std::ptrdiff_t sharing = std::ranges::count(masks, hash_of(cores));  // this rank is one of them
  return std::max(1, static_cast<int>(std::ssize(cores) / sharing));
}

DType dtype_from_options(const DeviceOptions& options) {
  return options.precision == "fp32" ? DType::f32 : DType::bf16;
}

std::unique_ptr<Device> make_device(const DeviceChoice& choice, int threads) {
  return choice.kind == DeviceKind::cuda ? cuda_backend::make_device(choice.cuda_index)
                                         : make_host_device({.compute_threads = threads, .hooks = nullptr});
}

std::unique_ptr<Ops> make_ops(Device& device, const DeviceOptions& options, const OpsLimits& limits) {
  const DType dtype = dtype_from_options(options);
  if (device.kind() == DeviceKind::cuda) {
    return cuda_backend::make_ops(device, dtype, limits);
  }
  // ThreadSanitizer cannot see inside oneDNN.
  const bool reference =
      options.kernels == "reference" || (options.kernels == "auto" && SHARDGPT_THREAD_SANITIZER);
  return reference ? make_reference_ops(device, dtype, limits) : make_cpu_ops(device, dtype, limits);
}

std::unique_ptr<Collectives> make_collectives(const MpiComm& comm, Device& device,
                                              std::chrono::seconds time_out) {
  return device.kind() == DeviceKind::cuda ? cuda_backend::make_collectives(comm, device, time_out)
                                           : make_mpi_collectives(comm, time_out);
}

std::size_t ops_workspace_bytes(const DeviceChoice& choice, const DeviceOptions& options, int threads,
                                const OpsLimits& limits) {
  const auto device = make_device(choice, threads);
  const auto bytes_held = [&device] {
    std::size_t bytes = 0;
    for (const MemoryUse& use : device->memory_use()) {
      bytes += use.bytes;
    }
    return bytes;
  };
  const std::size_t before = bytes_held();
  const auto ops = make_ops(*device, options, limits);
  return bytes_held() - before;
}

std::size_t free_device_memory(const DeviceChoice& choice) {
  return cuda_backend::free_memory(choice.cuda_index);
}

}  // namespace shardgpt
