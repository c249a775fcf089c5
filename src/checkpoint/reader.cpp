#include "checkpoint/reader.hpp"

#include <vector>

#include "checkpoint/checkpoint_error.hpp"
#include "checkpoint/config_json.hpp"
#include "checkpoint/fragment_exchange.hpp"
#include "checkpoint/value_reader.hpp"
#include "h5/h5_parallel.hpp"

namespace shardgpt {
namespace {

std::vector<UnitPiece> const_pieces(std::span<const MutableUnitPiece> pieces) {
  std::vector<UnitPiece> views;
  for (const MutableUnitPiece& piece : pieces) {
    views.push_back(as_const_piece(piece));
  }
  return views;
}

void check_request(const CheckpointInfo& info, const TensorTable& table, std::span<const UnitPiece> pieces,
                   std::size_t kinds) {
  const std::string difference = config_difference(info.config, table.config());
  SHARDGPT_REQUIRE(difference.empty(),
                   "checkpoint " + info.path.string() + " is of another model: " + difference);
  for (const UnitPiece& piece : pieces) {
    check_piece(table, piece, kinds);
  }
}

void read_shared(const MpiComm& comm, const CheckpointInfo& info, const TensorTable& table,
                 std::span<const MutableUnitPiece> pieces, std::size_t kinds, const LoadOptions& options) {
  ParallelFile file(comm, info.path, H5File::Access::read, options.io);
  for (std::size_t unit = 0; unit < table.units().size(); ++unit) {
    for (const StateKind kind : first_kinds(kinds)) {
      file.read(layout::unit_dataset(table.units()[unit].name, kind),
                chunks_of(pieces, static_cast<std::int64_t>(unit), kind, options.max_piece_bytes));
    }
  }
  file.close();
}

/// Local.
void read_parts(const CheckpointInfo& info, const TensorTable& table,
                std::span<const MutableUnitPiece> pieces, std::size_t kinds) {
  ValueReader values(info, table);
  for (const MutableUnitPiece& piece : pieces) {
    for (const StateKind kind : first_kinds(kinds)) {
      values.read(piece.unit, kind, piece.begin, piece.values(kind));
    }
  }
}

/// Compares on rank 0, which reads the stored checksums, and tells all; throws on all or on none.
void compare_checksums(const MpiComm& comm, const CheckpointInfo& info, const TensorTable& table,
                       const TensorChecksums& found, std::size_t kinds) {
  std::string difference;
  run_phase(comm, [&] {
    if (comm.rank() == 0) {
      const H5File file = H5File::open(info.path, H5File::Access::read);
      difference = checksum_difference(table, found, read_tensor_checksums(file, table), kinds);
    }
  });
  difference = comm.broadcast(difference, 0);
  if (!difference.empty()) {
    throw DamagedCheckpoint(info.path, difference);
  }
}

}  // namespace

void load_checkpoint(const MpiComm& comm, const CheckpointInfo& info, const TensorTable& table,
                     std::span<const MutableUnitPiece> pieces, const LoadOptions& options) {
  const std::size_t kinds = options.content == LoadContent::everything ? state_kinds.size() : 1;
  std::vector<UnitPiece> views;
  run_phase(comm, [&] {
    SHARDGPT_REQUIRE(options.max_piece_bytes >= 1, "checkpoint: the piece limit must be positive");
    views = const_pieces(pieces);
    check_request(info, table, views, kinds);
  });
  if (info.parts.in_one_file()) {
    read_shared(comm, info, table, pieces, kinds, options);
  } else {
    // On its own each rank opens only the parts it needs, and HDF5 cannot read an index through MPI-IO.
    run_phase(comm, [&] { read_parts(info, table, pieces, kinds); });
  }
  std::vector<TensorFragment> own;
  run_phase(comm, [&] { own = piece_fragments(table, views, kinds); });
  const std::vector<TensorFragment> all = exchange_fragments(comm, own);
  TensorChecksums found;
  run_phase(comm, [&] { found = join_fragments(table, all, Overlap::accept_equal); });
  compare_checksums(comm, info, table, found, kinds);
}

}  // namespace shardgpt
