#include "h5/h5_parallel.hpp"

#include <algorithm>
#include <optional>

#include "core/log.hpp"
#include "h5/h5_transfer.hpp"

namespace shardgpt {
namespace {

struct MpiInfoTraits {
  using Raw = MPI_Info;
  inline static const Raw null = MPI_INFO_NULL;
  static void close(Raw raw) noexcept {
    if (MPI_Info_free(&raw) != MPI_SUCCESS) {
      log_warning("MPI_Info_free failed");
    }
  }
};
using MpiInfo = UniqueHandle<MpiInfoTraits>;

MpiInfo make_info(const MpiIoHints& hints) {
  MPI_Info raw = MPI_INFO_NULL;
  SHARDGPT_MPI(MPI_Info_create(&raw));
  MpiInfo info(raw);
  for (const auto& [key, value] : hints) {
    // MPI reports this to the handler of MPI_COMM_WORLD, which ends the job.
    SHARDGPT_REQUIRE(!key.empty() && key.size() < MPI_MAX_INFO_KEY && value.size() < MPI_MAX_INFO_VAL,
                     "MPI-IO hint " + key + "=" + value + ": MPI takes keys of 1 to " +
                         std::to_string(MPI_MAX_INFO_KEY - 1) + " bytes and values of at most " +
                         std::to_string(MPI_MAX_INFO_VAL - 1));
    SHARDGPT_MPI(MPI_Info_set(info.get(), key.c_str(), value.c_str()));
  }
  return info;
}

MpiIoHints with_defaults(const MpiIoHints& given) {
  MpiIoHints hints = direct_io_hints();
  hints.insert(hints.end(), given.begin(), given.end());  // MPI keeps the last of a key
  return hints;
}

H5Properties make_transfer(MpiIoMode mode, const std::string& action) {
  H5Properties transfer(SHARDGPT_H5(action, H5Pcreate(H5P_DATASET_XFER)));
  SHARDGPT_H5(action,
              H5Pset_dxpl_mpio(transfer.get(),
                               mode == MpiIoMode::collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT));
  return transfer;
}

/// HDF5 may silently fall back to independent transfers; that is an error here.
void require_collective_transfer(const H5Properties& transfer, const std::string& action) {
  std::uint32_t local_cause = 0;
  std::uint32_t global_cause = 0;
  H5D_mpio_actual_io_mode_t actual = H5D_MPIO_NO_COLLECTIVE;
  SHARDGPT_H5(action, H5Pget_mpio_no_collective_cause(transfer.get(), &local_cause, &global_cause));
  SHARDGPT_H5(action, H5Pget_mpio_actual_io_mode(transfer.get(), &actual));
  if (global_cause != 0 || actual != H5D_MPIO_CONTIGUOUS_COLLECTIVE) {
    throw H5Error(H5Error::Cause::content,
                  "cannot " + action + ": HDF5 fell back to independent transfers (cause " +
                      std::to_string(local_cause) + " here, " + std::to_string(global_cause) +
                      " of all, actual mode " + std::to_string(actual) + ")");
  }
}

/// The writes of one rank to one dataset.
class DatasetWrite {
 public:
  using Chunks = std::span<const FloatChunk<const float>>;

  /// Prepares everything that can fail on one rank alone.
  DatasetWrite(const H5File& file, const std::string& name, MpiIoMode mode, Chunks chunks)
      : action_(h5_action("write", name, file)),
        dataset_(open_floats(file, name, "write")),
        file_offset_(file.shape_of(name).file_offset),
        transfer_(make_transfer(mode, action_)),
        chunks_(chunks) {
    for (const FloatChunk<const float>& chunk : chunks) {
      selections_.push_back(select(chunk));
    }
    selections_.push_back(select({}));
  }

  /// The chunk number `round`; nothing where there are fewer.
  void write(std::size_t round) const {
    static constexpr float nothing = 0;  // an empty rank still hands over a valid address
    const std::size_t index = std::min(round, chunks_.size());
    const bool empty = index == chunks_.size() || chunks_[index].values.empty();
    SHARDGPT_H5(action_, H5Dwrite(dataset_.get(), H5T_NATIVE_FLOAT, selections_[index].memory.get(),
                                  selections_[index].file.get(), transfer_.get(),
                                  empty ? &nothing : chunks_[index].values.data()));
  }

  void require_collective() const { require_collective_transfer(transfer_, action_); }

  void start_writeback(const PageCacheAdvice& advice) const noexcept {
    constexpr std::int64_t element_bytes = sizeof(float);
    for (const FloatChunk<const float>& chunk : chunks_) {
      advice.write_soon(file_offset_ + chunk.begin * element_bytes,
                        static_cast<std::int64_t>(chunk.values.size_bytes()));
    }
  }

 private:
  [[nodiscard]] H5Selection select(const FloatChunk<const float>& chunk) const {
    return select_floats(dataset_, chunk.begin, static_cast<std::int64_t>(chunk.values.size()), action_);
  }

  std::string action_;
  H5Dataset dataset_;
  std::int64_t file_offset_;
  H5Properties transfer_;
  Chunks chunks_;
  std::vector<H5Selection> selections_;  // one for each chunk, and one of nothing
};

H5File open_file(const MpiComm& comm, const std::filesystem::path& path, const MpiIoHints& hints) {
  silence_h5_errors();
  const std::string action = "open " + path.string();
  MpiInfo info;
  // Before the file is opened together: a hint that MPI refuses on one rank must not leave the others
  // waiting.
  run_phase(comm, [&] { info = make_info(with_defaults(hints)); });
  std::optional<H5File> file;
  run_phase(comm, [&] {
    const H5Properties properties(SHARDGPT_H5(action, H5Pcreate(H5P_FILE_ACCESS)));
    SHARDGPT_H5(action, H5Pset_fapl_mpio(properties.get(), comm.raw(), info.get()));  // HDF5 keeps a copy
    file.emplace(SHARDGPT_H5(action, H5Fopen(path.c_str(), H5F_ACC_RDWR, properties.get())), path);
  });
  return std::move(*file);
}

}  // namespace

MpiIoHints direct_io_hints() {
  return {{"collective_buffering", "false"},  // OMPIO
          {"romio_cb_write", "disable"},
          {"romio_ds_write", "disable"}};  // no read-modify-write: a neighbour writes the bytes between
}

ParallelFile::ParallelFile(const MpiComm& comm, const std::filesystem::path& path, const ParallelIo& io)
    : comm_(comm), mode_(io.mode), file_(open_file(comm, path, io.hints)), advice_(path) {}

void ParallelFile::write(const std::string& name, std::span<const FloatChunk<const float>> chunks,
                         const LocalRunner& local) {
  std::optional<DatasetWrite> own;
  run_phase(comm_, [&] { own.emplace(file_, name, mode_, chunks); });
  if (mode_ == MpiIoMode::collective) {
    const std::int64_t rounds = comm_.maximum(static_cast<std::int64_t>(chunks.size()));
    for (std::int64_t round = 0; round < rounds; ++round) {
      run_phase(comm_, [&] {
        own->write(static_cast<std::size_t>(round));
        own->require_collective();
      });
    }
  } else {
    run_phase(comm_, [&] {
      run_local(local, [&] {
        for (std::size_t round = 0; round < chunks.size(); ++round) {
          own->write(round);
        }
      });
    });
  }
  run_local(local, [&] { own->start_writeback(advice_); });
}

void ParallelFile::flush() {
  run_phase(comm_, [&] { file_.flush(); });
}

void ParallelFile::close() {
  run_phase(comm_, [&] { file_.close(); });
}

}  // namespace shardgpt
