#include "checkpoint/info_exchange.hpp"

#include "checkpoint/checkpoint_error.hpp"
#include "checkpoint/config_json.hpp"

namespace shardgpt {

CheckpointInfo read_checkpoint_info(const MpiComm& comm, const std::filesystem::path& path) {
  std::string damage;
  nlohmann::json message;
  run_phase(comm, [&] {
    if (comm.rank() == 0) {
      try {
        const CheckpointInfo info = read_checkpoint_info(path);
        message = {{"config", config_to_json(info.config)},
                   {"state", info.state},
                   {"parts", layout_to_json(info.parts)}};
      } catch (const DamagedCheckpoint& error) {
        damage = error.what();
      }
    }
  });
  damage = comm.broadcast(damage, 0);
  if (!damage.empty()) {
    throw DamagedCheckpoint(damage);
  }
  message = nlohmann::json::parse(comm.broadcast(message.dump(), 0));
  return {config_from_json(message.at("config")), message.at("state"), path,
          layout_from_json(message.at("parts"))};
}

}  // namespace shardgpt
