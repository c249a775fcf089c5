#include "checkpoint_fixture.hpp"

#include <algorithm>
#include <fstream>

#include <unistd.h>

#include "core/checked.hpp"

using namespace shardgpt;

SharedFolder::SharedFolder() {
  const std::string name = "shardgpt-checkpoint-test-" + std::to_string(::getpid());
  path = std::filesystem::temp_directory_path() / world().broadcast(name, 0);
  if (world().rank() == 0) {
    std::filesystem::create_directories(path);
  }
  world().barrier();
}

SharedFolder::~SharedFolder() {
  world().barrier();
  if (world().rank() == 0) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
}

std::optional<MpiComm> first_ranks(int size) {
  MPI_Comm raw = MPI_COMM_NULL;
  const int colour = world().rank() < size ? 0 : MPI_UNDEFINED;
  SHARDGPT_MPI(MPI_Comm_split(world().raw(), colour, world().rank(), &raw));
  if (raw == MPI_COMM_NULL) {
    return std::nullopt;
  }
  std::optional<MpiComm> comm(MpiComm::duplicate(raw));
  SHARDGPT_MPI(MPI_Comm_free(&raw));
  return comm;
}

ModelConfig small_config(std::int64_t embd) {
  ModelConfig config;
  config.layers = 2;
  config.heads = 2;
  config.embd = embd;
  config.vocab = 37;
  config.positions = 10;
  config.bos_token = 36;
  config.eos_token = 35;
  return config;
}

float expected_value(std::int64_t unit, std::int64_t element, StateKind kind) {
  return static_cast<float>(unit) + 0.25F * static_cast<float>(kind) +
         1e-3F * static_cast<float>(element + 1);
}

ModelShard::ModelShard(const TensorTable& table, const MpiComm& comm, std::int64_t alignment) {
  for (std::size_t unit = 0; unit < table.units().size(); ++unit) {
    const std::int64_t elements = table.units()[unit].elements;
    const std::int64_t share = round_up(elements, comm.size() * alignment) / comm.size();
    const std::int64_t begin = std::min(elements, share * comm.rank());
    const std::int64_t end = std::min(elements, begin + share);
    Part part{static_cast<std::int64_t>(unit), begin, {}};
    for (auto& values : part.values) {
      values.resize(static_cast<std::size_t>(end - begin));
    }
    parts_.push_back(std::move(part));
  }
}

void ModelShard::fill_expected() {
  for (Part& part : parts_) {
    for (const StateKind kind : state_kinds) {
      auto& values = part.values[static_cast<std::size_t>(kind)];
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = expected_value(part.unit, part.begin + static_cast<std::int64_t>(i), kind);
      }
    }
  }
}

void ModelShard::fill_garbage() {
  for (Part& part : parts_) {
    for (auto& values : part.values) {
      std::ranges::fill(values, -77.0F);
    }
  }
}

bool ModelShard::has_expected(std::size_t kinds) const {
  for (const Part& part : parts_) {
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      for (std::size_t i = 0; i < part.values[kind].size(); ++i) {
        if (part.values[kind][i] !=
            expected_value(part.unit, part.begin + static_cast<std::int64_t>(i), state_kinds[kind])) {
          return false;
        }
      }
    }
  }
  return true;
}

std::vector<UnitPiece> ModelShard::pieces() const {
  std::vector<UnitPiece> all;
  for (const Part& part : parts_) {
    all.push_back({part.unit, part.begin, part.values[0], part.values[1], part.values[2]});
  }
  return all;
}

std::vector<MutableUnitPiece> ModelShard::mutable_pieces() {
  std::vector<MutableUnitPiece> all;
  for (Part& part : parts_) {
    all.push_back({part.unit, part.begin, part.values[0], part.values[1], part.values[2]});
  }
  return all;
}

SaveOptions save_as(CheckpointFiles files, std::int64_t ranks_per_file) {
  SaveOptions options;
  options.files = files;
  options.ranks_per_file = ranks_per_file;
  return options;
}

const char* name_of(CheckpointFiles files) {
  return files == CheckpointFiles::shared ? "shared" : "node";
}

std::size_t files_under(const std::filesystem::path& folder) {
  const std::filesystem::recursive_directory_iterator entries(folder);
  return static_cast<std::size_t>(
      std::count_if(begin(entries), end(entries), [](const auto& entry) { return entry.is_regular_file(); }));
}

std::vector<std::filesystem::path> part_folders(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_directory() && entry.path().filename().string().find(".parts-") != std::string::npos) {
      found.push_back(entry.path());
    }
  }
  return found;
}

void flip_byte(const std::filesystem::path& path, std::int64_t offset, unsigned char mask) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.exceptions(std::ios::badbit | std::ios::failbit);
  file.seekg(offset);
  const int byte = file.get();
  file.seekp(offset);
  file.put(static_cast<char>(static_cast<unsigned char>(byte) ^ mask));
}
