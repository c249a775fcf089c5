#include "h5/h5_parallel.hpp"

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
void require_collective(const H5Properties& transfer, const std::string& action) {
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

/// Moves the chunks of one dataset: `move(dataset, selection, transfer, pointer)` reads or writes.
template <class T, class Move>
class Transfer {
 public:
  Transfer(const MpiComm& comm, MpiIoMode mode, std::string action, Move move)
      : comm_(comm), mode_(mode), action_(std::move(action)), move_(std::move(move)) {}

  void run(const H5File& file, const std::string& name, const char* verb,
           std::span<const FloatChunk<T>> chunks) {
    run_phase(comm_, [&] {
      dataset_ = open_floats(file, name, verb);
      transfer_ = make_transfer(mode_, action_);
    });
    if (mode_ == MpiIoMode::collective) {
      run_rounds(chunks);
    } else {
      run_phase(comm_, [&] {
        for (const FloatChunk<T>& chunk : chunks) {
          move_(dataset_, select(chunk), transfer_, chunk.values.data());
        }
      });
    }
  }

 private:
  H5Selection select(const FloatChunk<T>& chunk) const {
    return select_floats(dataset_, chunk.begin, static_cast<std::int64_t>(chunk.values.size()), action_);
  }

  void run_rounds(std::span<const FloatChunk<T>> chunks) {
    const std::int64_t rounds = comm_.maximum(static_cast<std::int64_t>(chunks.size()));
    T nothing{};  // an empty rank still hands over a valid address
    for (std::int64_t round = 0; round < rounds; ++round) {
      const auto index = static_cast<std::size_t>(round);
      const FloatChunk<T> chunk = index < chunks.size() ? chunks[index] : FloatChunk<T>{};
      H5Selection selection;
      run_phase(comm_, [&] { selection = select(chunk); });
      run_phase(comm_, [&] {
        move_(dataset_, selection, transfer_, chunk.values.empty() ? &nothing : chunk.values.data());
        require_collective(transfer_, action_);
      });
    }
  }

  const MpiComm& comm_;
  MpiIoMode mode_;
  std::string action_;
  Move move_;
  H5Dataset dataset_;
  H5Properties transfer_;
};

H5File open_file(const MpiComm& comm, const std::filesystem::path& path, H5File::Access access,
                 const MpiIoHints& hints) {
  silence_h5_errors();
  const std::string action = "open " + path.string();
  const unsigned flags = access == H5File::Access::read ? H5F_ACC_RDONLY : H5F_ACC_RDWR;
  MpiInfo info;
  // Before the file is opened together: a hint that MPI refuses on one rank must not leave the others
  // waiting.
  run_phase(comm, [&] { info = make_info(with_defaults(hints)); });
  std::optional<H5File> file;
  run_phase(comm, [&] {
    const H5Properties properties(SHARDGPT_H5(action, H5Pcreate(H5P_FILE_ACCESS)));
    SHARDGPT_H5(action, H5Pset_fapl_mpio(properties.get(), comm.raw(), info.get()));  // HDF5 keeps a copy
    file.emplace(SHARDGPT_H5(action, H5Fopen(path.c_str(), flags, properties.get())), path);
  });
  return std::move(*file);
}

}  // namespace

MpiIoHints direct_io_hints() {
  return {{"collective_buffering", "false"},  // OMPIO
          {"romio_cb_write", "disable"},
          {"romio_cb_read", "disable"},
          {"romio_ds_write", "disable"},  // no read-modify-write: a neighbour writes the bytes between
          {"romio_ds_read", "disable"}};
}

ParallelFile::ParallelFile(const MpiComm& comm, const std::filesystem::path& path, H5File::Access access,
                           const ParallelIo& io)
    : comm_(comm), mode_(io.mode), file_(open_file(comm, path, access, io.hints)) {}

void ParallelFile::write(const std::string& name, std::span<const FloatChunk<const float>> chunks) {
  const std::string action = h5_action("write", name, file_);
  const auto move = [&](const H5Dataset& dataset, const H5Selection& selection, const H5Properties& transfer,
                        const float* values) {
    SHARDGPT_H5(action, H5Dwrite(dataset.get(), H5T_NATIVE_FLOAT, selection.memory.get(),
                                 selection.file.get(), transfer.get(), values));
  };
  Transfer<const float, decltype(move)>(comm_, mode_, action, move).run(file_, name, "write", chunks);
}

void ParallelFile::read(const std::string& name, std::span<const FloatChunk<float>> chunks) const {
  const std::string action = h5_action("read", name, file_);
  const auto move = [&](const H5Dataset& dataset, const H5Selection& selection, const H5Properties& transfer,
                        float* values) {
    SHARDGPT_H5(action, H5Dread(dataset.get(), H5T_NATIVE_FLOAT, selection.memory.get(), selection.file.get(),
                                transfer.get(), values));
  };
  Transfer<float, decltype(move)>(comm_, mode_, action, move).run(file_, name, "read", chunks);
}

void ParallelFile::flush() {
  run_phase(comm_, [&] { file_.flush(); });
}

void ParallelFile::close() {
  run_phase(comm_, [&] { file_.close(); });
}

}  // namespace shardgpt
