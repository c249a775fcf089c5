#include "train/provenance.hpp"

#include "checkpoint/checkpoint_info.hpp"
#include "kernels/cpu/matrix_products.hpp"
#include "train/cuda_backend.hpp"
#include "train/version.hpp"

namespace shardgpt {

nlohmann::json provenance(const TrainConfig& config, const MpiComm& comm) {
  nlohmann::json record = {{"version", version_text()}, {"mpi", MpiSession::library_version()},
                           {"hdf5", hdf5_version()},    {"onednn", cpu::products_library_version()},
                           {"ranks", comm.size()},      {"command_line", config.command_line}};
  for (const auto& [name, version] : cuda_backend::libraries()) {
    record[name] = version;
  }
  return record;
}

}  // namespace shardgpt
