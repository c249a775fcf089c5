#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/reader.hpp"
#include "checkpoint/unit_pieces.hpp"
#include "checkpoint/writer.hpp"
#include "dist/mpi/mpi_session.hpp"
#include "model/tensor_table.hpp"
#include "tests/support/mpi_test.hpp"

/// The communicator of the test program.
inline const shardgpt::MpiComm& world() {
  return shardgpt::test::session().world();
}

/// A folder shared by the ranks of the test, removed at its end.
struct SharedFolder {
  SharedFolder();
  ~SharedFolder();
  std::filesystem::path path;
};

/// Ranks [0, size) of the world; nothing on the others. Collective over the world.
std::optional<shardgpt::MpiComm> first_ranks(int size);

shardgpt::ModelConfig small_config(std::int64_t embd = 8);

/// The value that every rank expects at (unit, element, kind).
float expected_value(std::int64_t unit, std::int64_t element, shardgpt::StateKind kind);

/// One rank's share of a model, cut as training cuts it: every unit padded once to ranks x alignment, a
/// contiguous part each, the padding dropped.
class ModelShard {
 public:
  ModelShard(const shardgpt::TensorTable& table, const shardgpt::MpiComm& comm, std::int64_t alignment);

  void fill_expected();
  void fill_garbage();
  [[nodiscard]] bool has_expected(std::size_t kinds = 3) const;
  [[nodiscard]] std::vector<shardgpt::UnitPiece> pieces() const;
  [[nodiscard]] std::vector<shardgpt::MutableUnitPiece> mutable_pieces();

 private:
  struct Part {
    std::int64_t unit = 0;
    std::int64_t begin = 0;
    std::array<std::vector<float>, 3> values;
  };
  std::vector<Part> parts_;
};

/// A save into one file, or into one for every `ranks_per_file` ranks and an index.
[[nodiscard]] shardgpt::SaveOptions save_as(shardgpt::CheckpointFiles files, std::int64_t ranks_per_file = 1);
inline constexpr std::array both_file_modes = {shardgpt::CheckpointFiles::shared,
                                               shardgpt::CheckpointFiles::node};
[[nodiscard]] const char* name_of(shardgpt::CheckpointFiles files);

/// All files under `folder`, and the folders of parts directly in it. Local.
[[nodiscard]] std::size_t files_under(const std::filesystem::path& folder);
[[nodiscard]] std::vector<std::filesystem::path> part_folders(const std::filesystem::path& folder);

/// Runs `work` on rank 0 while the others wait; what it throws is thrown on all.
template <class Work>
void on_first_rank(Work&& work) {
  shardgpt::run_phase(world(), [&] {
    if (world().rank() == 0) {
      work();
    }
  });
}

/// What `work` throws, as text; empty where it throws nothing.
template <class Work>
std::string error_of(Work&& work) {
  try {
    work();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

/// Flips the bits `mask` of the byte at `offset`.
void flip_byte(const std::filesystem::path& path, std::int64_t offset, unsigned char mask);
