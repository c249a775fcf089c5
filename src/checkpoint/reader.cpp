#include "checkpoint/reader.hpp"

#include <vector>

#include "checkpoint/checkpoint_error.hpp"
#include "checkpoint/config_json.hpp"
#include "checkpoint/fragment_exchange.hpp"
#include "checkpoint/value_reader.hpp"

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

/// One load: reads unit by unit, kind by kind. While the checksums of one are computed the disk fetches the
/// next.
class CheckpointLoad {
 public:
  CheckpointLoad(const MpiComm& comm, const CheckpointInfo& info, const TensorTable& table,
                 std::span<const MutableUnitPiece> pieces, const LoadOptions& options)
      : comm_(comm),
        info_(info),
        table_(table),
        pieces_(pieces),
        views_(const_pieces(pieces)),
        options_(options),
        kinds_(options.content == LoadContent::everything ? state_kinds.size() : 1) {}

  /// Fills the pieces and compares the checksums.
  void run() {
    run_phase(comm_, [&] {
      SHARDGPT_REQUIRE(options_.max_piece_bytes >= 1, "checkpoint: the piece limit must be positive");
      check_request(info_, table_, views_, kinds_);
      fragments_ = piece_fragments(table_, views_);
    });
    run_phase(comm_, [&] { read_values(); });
    const std::vector<TensorFragment> all = exchange_fragments(comm_, fragments_);
    TensorChecksums found;
    run_phase(comm_, [&] { found = join_fragments(table_, all, Overlap::accept_equal); });
    compare_checksums(comm_, info_, table_, found, kinds_);
  }

 private:
  /// Local.
  void read_values() {
    ValueReader values(info_, table_);
    const std::size_t datasets = table_.units().size() * kinds_;
    const auto unit_of = [this](std::size_t i) { return static_cast<std::int64_t>(i / kinds_); };
    const auto kind_of = [this](std::size_t i) { return state_kinds[i % kinds_]; };
    const auto for_each_chunk = [&](std::size_t i, auto&& work) {
      for (const FloatChunk<float>& chunk :
           chunks_of(pieces_, unit_of(i), kind_of(i), options_.max_piece_bytes)) {
        work(unit_of(i), kind_of(i), chunk);
      }
    };
    for (std::size_t i = 0; i < datasets; ++i) {
      if (i + 1 < datasets) {
        for_each_chunk(i + 1, [&](std::int64_t unit, StateKind kind, const FloatChunk<float>& chunk) {
          values.read_soon(unit, kind, chunk.begin, static_cast<std::int64_t>(chunk.values.size()));
        });
      }
      for_each_chunk(i, [&](std::int64_t unit, StateKind kind, const FloatChunk<float>& chunk) {
        values.read(unit, kind, chunk.begin, chunk.values);
      });
      add_checksums(fragments_, table_, views_, unit_of(i), kind_of(i));
      if (options_.on_progress) {
        options_.on_progress();
      }
    }
  }

  const MpiComm& comm_;
  const CheckpointInfo& info_;
  const TensorTable& table_;
  std::span<const MutableUnitPiece> pieces_;
  std::vector<UnitPiece> views_;
  const LoadOptions& options_;
  std::size_t kinds_;
  std::vector<TensorFragment> fragments_;
};

}  // namespace

void load_checkpoint(const MpiComm& comm, const CheckpointInfo& info, const TensorTable& table,
                     std::span<const MutableUnitPiece> pieces, const LoadOptions& options) {
  CheckpointLoad(comm, info, table, pieces, options).run();
}

}  // namespace shardgpt
