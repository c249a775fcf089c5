#include "checkpoint/writer.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "checkpoint/checksums.hpp"
#include "checkpoint/fragment_exchange.hpp"
#include "checkpoint/preallocate.hpp"
#include "checkpoint/skeleton.hpp"
#include "core/atomic_file.hpp"
#include "h5/h5_parallel.hpp"

namespace shardgpt {
namespace {

// Reading back needs a buffer; smaller pieces than the writes keep it small.
constexpr std::int64_t verify_piece_bytes = std::int64_t{1} << 26;

/// One save; its methods are the stages, each collective and ending on all ranks alike.
class CheckpointSave {
 public:
  CheckpointSave(const MpiComm& comm, const std::filesystem::path& final_path, const TensorTable& table,
                 std::span<const UnitPiece> pieces, const SaveOptions& options)
      : comm_(comm),
        final_path_(final_path),
        temporary_(temporary_checkpoint_path(final_path)),
        table_(table),
        pieces_(pieces),
        options_(options) {}

  void run(const nlohmann::json& state) {
    const TensorChecksums checksums = plan();
    stage_done("planned");
    create(state, checksums);
    stage_done("created");
    H5File file = open_parallel(comm_, temporary_, H5File::Access::read_write);
    write(file);
    stage_done("written");
    if (options_.verify_after_write) {
      verify(file);
      stage_done("verified");
    }
    close_parallel(comm_, file);
    publish();
  }

  /// Removes what a failed save left. Local, rank 0's work; never throws.
  void remove_temporary() const noexcept {
    if (comm_.rank() == 0) {
      std::error_code ignored;  // the save's own error is the one to report
      std::filesystem::remove(temporary_, ignored);
    }
  }

 private:
  void progress() const {
    if (options_.on_progress) {
      options_.on_progress();
    }
  }

  void stage_done(std::string_view stage) const {
    progress();
    if (comm_.all(!options_.on_stage)) {
      return;
    }
    run_phase(comm_, [&] {
      if (options_.on_stage) {
        options_.on_stage(stage);
      }
    });
  }

  TensorChecksums plan() const {
    std::vector<TensorFragment> own;
    run_phase(comm_, [&] {
      SHARDGPT_REQUIRE(options_.max_piece_bytes >= 1, "checkpoint: the piece limit must be positive");
      own = piece_fragments(table_, pieces_, state_kinds.size());
    });
    TensorChecksums checksums;
    const std::vector<TensorFragment> all = exchange_fragments(comm_, own);
    run_phase(comm_, [&] { checksums = join_fragments(table_, all, Overlap::refuse); });
    return checksums;
  }

  void create(const nlohmann::json& state, const TensorChecksums& checksums) const {
    run_phase(comm_, [&] {
      if (comm_.rank() == 0) {
        if (final_path_.has_parent_path()) {
          std::filesystem::create_directories(final_path_.parent_path());
        }
        std::filesystem::remove(temporary_);
        H5File file = create_checkpoint_skeleton(temporary_, table_, state, checksums);
        file.close();
        preallocate(temporary_);
      }
    });
  }

  void write(H5File& file) const {
    for_each_dataset([&](std::int64_t unit, StateKind kind, const std::string& name) {
      write_collective(comm_, file, name, chunks_of(pieces_, unit, kind, options_.max_piece_bytes));
    });
    flush_parallel(comm_, file);
  }

  void verify(const H5File& file) const {
    const std::int64_t limit = std::min(options_.max_piece_bytes, verify_piece_bytes);
    std::vector<float>
        buffer;  // one for all: taking memory anew for each dataset costs more than the reading
    for_each_dataset([&](std::int64_t unit, StateKind kind, const std::string& name) {
      verify_dataset(file, name, chunks_of(pieces_, unit, kind, limit), buffer);
    });
  }

  void verify_dataset(const H5File& file, const std::string& name,
                      const std::vector<FloatChunk<const float>>& written, std::vector<float>& buffer) const {
    const std::int64_t rounds = comm_.maximum(static_cast<std::int64_t>(written.size()));
    for (std::int64_t round = 0; round < rounds; ++round) {
      const auto index = static_cast<std::size_t>(round);
      const auto wanted = index < written.size() ? written[index] : FloatChunk<const float>{};
      run_phase(comm_, [&] { buffer.resize(std::max(buffer.size(), wanted.values.size())); });
      const std::span<float> read = std::span(buffer).first(wanted.values.size());
      const FloatChunk<float> chunk{wanted.begin, read};
      read_collective(comm_, file, name, std::span(&chunk, 1));
      run_phase(comm_, [&] {
        if (!read.empty() && std::memcmp(read.data(), wanted.values.data(), read.size_bytes()) != 0) {
          throw Error(file.path().string() + ": " + name + " from element " + std::to_string(wanted.begin) +
                      " reads back unlike what was written; the MPI-IO layer may be at fault (with Open MPI "
                      "try OMPI_MCA_io=^ompio or OMPI_MCA_fcoll=dynamic_gen2)");
        }
      });
    }
  }

  void publish() const {
    run_phase(comm_, [&] {
      if (comm_.rank() == 0) {
        sync_file(temporary_);
      }
    });
    stage_done("synced");
    run_phase(comm_, [&] {
      if (comm_.rank() == 0) {
        rename_durably(temporary_, final_path_);
      }
    });
  }

  template <class Work>
  void for_each_dataset(Work&& work) const {
    for (std::size_t unit = 0; unit < table_.units().size(); ++unit) {
      for (const StateKind kind : state_kinds) {
        work(static_cast<std::int64_t>(unit), kind, layout::unit_dataset(table_.units()[unit].name, kind));
        progress();
      }
    }
  }

  const MpiComm& comm_;
  std::filesystem::path final_path_;
  std::filesystem::path temporary_;
  const TensorTable& table_;
  std::span<const UnitPiece> pieces_;
  const SaveOptions& options_;
};

}  // namespace

void save_checkpoint(const MpiComm& comm, const std::filesystem::path& final_path, const TensorTable& table,
                     const nlohmann::json& state, std::span<const UnitPiece> pieces,
                     const SaveOptions& options) {
  CheckpointSave save(comm, final_path, table, pieces, options);
  try {
    save.run(state);
  } catch (...) {
    save.remove_temporary();
    throw;
  }
}

}  // namespace shardgpt
