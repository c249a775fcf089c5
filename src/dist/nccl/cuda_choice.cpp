#include "dist/nccl/cuda_choice.hpp"

#include <map>
#include <vector>

#include "core/this_process.hpp"

namespace shardgpt {
namespace {

/// What a rank tells the others: host, then UUID or nothing, then name or the reason why there is no device.
struct Claim {
  std::string host;
  std::string uuid;
  std::string text;

  [[nodiscard]] std::string packed() const { return host + '\n' + uuid + '\n' + text; }
  static Claim unpacked(const std::string& packed) {
    const std::size_t first = packed.find('\n');
    const std::size_t second = packed.find('\n', first + 1);
    return {packed.substr(0, first), packed.substr(first + 1, second - first - 1), packed.substr(second + 1)};
  }
};

/// Empty where each rank has a device of its own. Depends on the claims only: the same on all ranks.
std::string judge(const std::vector<Claim>& claims) {
  std::map<std::string, std::size_t> owners;  // by host and UUID
  for (std::size_t rank = 0; rank < claims.size(); ++rank) {
    const Claim& claim = claims[rank];
    const std::string where = " on " + claim.host;
    if (claim.uuid.empty()) {
      return "rank " + std::to_string(rank) + where + " has no CUDA device: " + claim.text;
    }
    const auto [found, first] = owners.emplace(claim.host + '\n' + claim.uuid, rank);
    if (!first) {
      return "ranks " + std::to_string(found->second) + " and " + std::to_string(rank) + where +
             " would share one device (" + claim.text + ", UUID " + claim.uuid +
             "): start as many ranks on a node as it has devices, or bind a device of its own to each";
    }
  }
  return {};
}

}  // namespace

CudaChoice choose_cuda_device(const MpiComm& comm) {
  CudaChoice choice;
  CudaDevices found;
  run_phase(comm, [&] { found = find_cuda_devices(); });
  const MpiComm node = comm.split_by_node();
  Claim own{host_name(), "", found.reason};
  if (!found.devices.empty()) {
    choice.device = found.devices[static_cast<std::size_t>(node.rank()) % found.devices.size()];
    own.uuid = choice.device.uuid;
    own.text = choice.device.name;
  }
  std::vector<Claim> claims;
  for (const std::string& packed : comm.all_gather(own.packed())) {
    claims.push_back(Claim::unpacked(packed));
  }
  choice.refusal = judge(claims);
  return choice;
}

}  // namespace shardgpt
