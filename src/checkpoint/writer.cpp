#include "checkpoint/writer.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checksums.hpp"
#include "checkpoint/fragment_exchange.hpp"
#include "checkpoint/part_files.hpp"
#include "checkpoint/part_layout.hpp"
#include "checkpoint/part_plan.hpp"
#include "checkpoint/part_records.hpp"
#include "checkpoint/preallocate.hpp"
#include "checkpoint/skeleton.hpp"
#include "core/atomic_file.hpp"
#include "core/log.hpp"
#include "h5/h5_parallel.hpp"

namespace shardgpt {
namespace {

// Reading back needs a buffer; a small one is likely to stay in the processor's cache until it is compared.
constexpr std::int64_t verify_piece_bytes = std::int64_t{1} << 22;

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
    write_values();
    publish();
  }

  /// Removes what a failed save left. Local, rank 0's work; never throws.
  void remove_temporary() const noexcept {
    if (comm_.rank() == 0 && !published_) {
      std::error_code ignored;  // the save's own error is the one to report
      std::filesystem::remove(temporary_, ignored);
      if (in_parts()) {
        std::filesystem::remove_all(temporary_parts_folder(final_path_, layout_.save_id), ignored);
        std::filesystem::remove_all(parts_folder(final_path_, layout_.save_id), ignored);
      }
    }
  }

 private:
  void progress() const {
    if (options_.on_progress) {
      options_.on_progress();
    }
  }
  [[nodiscard]] bool in_parts() const { return !layout_.in_one_file(); }
  /// The ranks that write the same file as this one.
  [[nodiscard]] const MpiComm& group() const { return group_ ? *group_ : comm_; }

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

  TensorChecksums plan() {
    std::vector<TensorFragment> own;
    run_phase(comm_, [&] {
      SHARDGPT_REQUIRE(options_.max_piece_bytes >= 1, "checkpoint: the piece limit must be positive");
      SHARDGPT_REQUIRE(options_.ranks_per_file >= 0, "checkpoint: the ranks of a file must not be negative");
      SHARDGPT_REQUIRE(options_.alignment_bytes >= 1, "checkpoint: the alignment must be positive");
      for (const UnitPiece& piece : pieces_) {
        check_piece(table_, piece, state_kinds.size());
      }
      own = piece_fragments(table_, pieces_);
      run_local(options_.local, [&] {
        for (std::size_t unit = 0; unit < table_.units().size(); ++unit) {
          for (const StateKind kind : state_kinds) {
            add_checksums(own, table_, pieces_, static_cast<std::int64_t>(unit), kind);
          }
        }
      });
    });
    TensorChecksums checksums;
    const std::vector<TensorFragment> all = exchange_fragments(comm_, own);
    run_phase(comm_, [&] { checksums = join_fragments(table_, all, Overlap::refuse); });
    if (options_.files == CheckpointFiles::node) {
      plan_files();
    } else {
      layout_ = one_file_layout(table_, temporary_);
      own_file_ = temporary_;
    }
    place_pieces();
    return checksums;
  }

  void plan_files() {
    group_ = split_by_file(comm_, options_.ranks_per_file);
    PartPlan plan = plan_parts(comm_, *group_, pieces_);
    layout_.save_id = comm_.broadcast(new_save_id(), 0);
    layout_.runs = std::move(plan.runs);
    const std::filesystem::path folder = parts_folder(final_path_, layout_.save_id).filename();
    for (std::int64_t part = 0; part < plan.parts; ++part) {
      layout_.files.push_back({(folder / part_file_name(part)).string(), 0});
    }
    own_part_ = plan.own_part;
    if (own_part_ >= 0) {
      own_file_ = temporary_parts_folder(final_path_, layout_.save_id) / part_file_name(own_part_);
    }
  }

  /// This rank's pieces with `begin` counted within its file.
  void place_pieces() {
    for (UnitPiece piece : pieces_) {
      for (const PartRun& run : runs_of_unit(layout_, piece.unit)) {
        if (run.part == own_part_ && run.begin <= piece.begin && piece.begin < run.begin + run.count &&
            !piece.param.empty()) {
          piece.begin += run.offset - run.begin;
          placed_.push_back(piece);
          break;
        }
      }
    }
  }

  void create(const nlohmann::json& state, const TensorChecksums& checksums) {
    run_phase(comm_, [&] {
      if (comm_.rank() == 0) {
        if (final_path_.has_parent_path()) {
          std::filesystem::create_directories(final_path_.parent_path());
        }
        std::filesystem::remove(temporary_);
        if (in_parts()) {
          std::filesystem::create_directory(temporary_parts_folder(final_path_, layout_.save_id));
        }
      }
    });
    const H5CreateOptions create_options{.alignment_bytes = options_.alignment_bytes};
    if (in_parts()) {
      create_parts(create_options);
    }
    run_phase(comm_, [&] {
      if (comm_.rank() == 0) {
        H5File file = in_parts()
                          ? create_checkpoint_index(temporary_, table_, state, checksums, layout_)
                          : create_checkpoint_skeleton(temporary_, table_, state, checksums, create_options);
        file.close();
        run_local(options_.local, [&] { preallocate(temporary_); });
      }
    });
  }

  /// The first rank of each group makes its file; all learn the sizes.
  void create_parts(const H5CreateOptions& create_options) {
    std::uint64_t bytes = 0;
    run_phase(comm_, [&] {
      if (group().rank() == 0 && own_part_ >= 0) {
        H5File file = create_part(own_file_, table_, layout_, own_part_, create_options);
        file.close();
        run_local(options_.local, [&] { preallocate(own_file_); });
        bytes = std::filesystem::file_size(own_file_);
      }
    });
    const std::vector<std::uint64_t> sizes = comm_.all_gather(bytes);
    const std::vector<std::uint64_t> parts = comm_.all_gather(static_cast<std::uint64_t>(own_part_ + 1));
    for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
      if (sizes[rank] > 0) {
        layout_.files[parts[rank] - 1].bytes = static_cast<std::int64_t>(sizes[rank]);
      }
    }
  }

  /// Each stage works on the group's file and ends on all ranks together.
  void write_values() {
    std::optional<ParallelFile> file;
    in_group([&] { file.emplace(group(), own_file_, options_.io); });
    in_group([&] { write(*file); });
    stage_done("written");
    in_group([&] { file->close(); });
    if (options_.verify_after_write) {
      run_phase(comm_, [&] { run_local(options_.local, [&] { verify(); }); });
      stage_done("verified");
    }
  }

  /// `work` is collective over the group; a group without a file has none.
  template <class Work>
  void in_group(Work&& work) const {
    if (!group_) {
      work();
      return;
    }
    run_phase(comm_, [&] {
      if (own_part_ >= 0) {
        work();
      }
    });
  }

  void write(ParallelFile& file) const {
    for_each_dataset([&](std::int64_t unit, StateKind kind, const std::string& name) {
      file.write(name, chunks_of(placed(), unit, kind, options_.max_piece_bytes), options_.local);
    });
    file.flush();
  }

  /// Reads this rank's elements back and compares them. Local, and past MPI-IO: that is what is checked.
  void verify() const {
    if (placed_.empty()) {
      return;
    }
    const H5File file = H5File::open(own_file_, H5File::Access::read);
    std::vector<float> buffer;
    for (const UnitPiece& piece : placed_) {
      for (const StateKind kind : state_kinds) {
        std::vector<FloatChunk<const float>> written;
        append_chunks(written, piece.begin, piece.values(kind), verify_piece_bytes);
        const std::string& unit = table_.units()[static_cast<std::size_t>(piece.unit)].name;
        for (const FloatChunk<const float>& wanted : written) {
          buffer.resize(std::max(buffer.size(), wanted.values.size()));
          compare(file, layout::unit_dataset(unit, kind), wanted,
                  std::span(buffer).first(wanted.values.size()));
        }
      }
    }
  }

  static void compare(const H5File& file, const std::string& name, const FloatChunk<const float>& wanted,
                      std::span<float> buffer) {
    file.read_floats(name, wanted.begin, buffer);
    if (std::memcmp(buffer.data(), wanted.values.data(), buffer.size_bytes()) != 0) {
      throw Error(file.path().string() + ": " + name + " from element " + std::to_string(wanted.begin) +
                  " reads back unlike what was written; the MPI-IO layer may be at fault (with Open MPI try "
                  "OMPI_MCA_io=^ompio or OMPI_MCA_fcoll=dynamic_gen2)");
    }
  }

  void publish() {
    run_phase(comm_, [&] {
      if (group().rank() == 0 && own_part_ >= 0) {
        run_local(options_.local, [&] { sync_file(own_file_); });
      }
      if (comm_.rank() == 0 && in_parts()) {
        sync_file(temporary_);
      }
    });
    stage_done("synced");
    run_phase(comm_, [&] {
      if (comm_.rank() == 0) {
        if (in_parts()) {
          const auto folder = temporary_parts_folder(final_path_, layout_.save_id);
          sync_folder(folder);
          rename_durably(folder, parts_folder(final_path_, layout_.save_id));
        }
        rename_durably(temporary_, final_path_);
        published_ = true;
        remove_replaced_parts();
      }
    });
  }

  /// Those of an earlier checkpoint of the same name. The new one is complete: a failure is no failure of it.
  void remove_replaced_parts() const {
    try {
      remove_orphan_parts(final_path_);
    } catch (const std::exception& error) {
      log_warning(std::string("cannot remove the parts of a checkpoint that was replaced: ") + error.what());
    }
  }

  template <class Work>
  void for_each_dataset(Work&& work) const {
    for (std::size_t unit = 0; unit < table_.units().size(); ++unit) {
      if (!group_has(static_cast<std::int64_t>(unit))) {
        continue;
      }
      for (const StateKind kind : state_kinds) {
        work(static_cast<std::int64_t>(unit), kind, layout::unit_dataset(table_.units()[unit].name, kind));
        progress();
      }
    }
  }

  /// Whether the group's file has datasets of a unit.
  [[nodiscard]] bool group_has(std::int64_t unit) const {
    return std::ranges::any_of(runs_of_unit(layout_, unit),
                               [this](const PartRun& run) { return run.part == own_part_; });
  }

  [[nodiscard]] std::span<const UnitPiece> placed() const { return placed_; }

  const MpiComm& comm_;
  std::filesystem::path final_path_;
  std::filesystem::path temporary_;
  const TensorTable& table_;
  std::span<const UnitPiece> pieces_;
  const SaveOptions& options_;
  std::optional<MpiComm> group_;  // of CheckpointFiles::node
  PartLayout layout_;
  std::int64_t own_part_ = 0;
  std::filesystem::path own_file_;  // while it is written
  std::vector<UnitPiece> placed_;
  bool published_ = false;
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
