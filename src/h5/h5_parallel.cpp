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
    SHARDGPT_MPI(MPI_Info_set(info.get(), key.c_str(), value.c_str()));
  }
  return info;
}

/// Asks for collective transfers.
H5Properties collective_transfer(const std::string& action) {
  H5Properties transfer(SHARDGPT_H5(action, H5Pcreate(H5P_DATASET_XFER)));
  SHARDGPT_H5(action, H5Pset_dxpl_mpio(transfer.get(), H5FD_MPIO_COLLECTIVE));
  return transfer;
}

/// HDF5 may silently fall back to independent transfers; that is an error here.
void require_collective(const H5Properties& transfer, const std::string& action) {
  std::uint32_t local_cause = 0;
  std::uint32_t global_cause = 0;
  SHARDGPT_H5(action, H5Pget_mpio_no_collective_cause(transfer.get(), &local_cause, &global_cause));
  if (global_cause != 0) {
    throw H5Error(H5Error::Cause::content,
                  "cannot " + action + ": HDF5 fell back to independent transfers (cause " +
                      std::to_string(local_cause) + " here, " + std::to_string(global_cause) + " of all)");
  }
}

/// Runs the rounds of one dataset: `move(dataset, selection, transfer, pointer)` reads or writes.
template <class T, class Move>
void transfer_rounds(const MpiComm& comm, const H5File& file, const std::string& name, const char* verb,
                     std::span<const FloatChunk<T>> chunks, Move&& move) {
  const std::string action = h5_action(verb, name, file);
  H5Dataset dataset;
  H5Properties transfer;
  run_phase(comm, [&] {
    dataset = open_floats(file, name, verb);
    transfer = collective_transfer(action);
  });
  const std::int64_t rounds = comm.maximum(static_cast<std::int64_t>(chunks.size()));
  T nothing{};  // an empty rank still hands over a valid address
  for (std::int64_t round = 0; round < rounds; ++round) {
    const auto index = static_cast<std::size_t>(round);
    const FloatChunk<T> chunk = index < chunks.size() ? chunks[index] : FloatChunk<T>{};
    H5Selection selection;
    run_phase(comm, [&] {
      selection = select_floats(dataset, chunk.begin, static_cast<std::int64_t>(chunk.values.size()), action);
    });
    run_phase(comm, [&] {
      move(dataset, selection, transfer, chunk.values.empty() ? &nothing : chunk.values.data());
      require_collective(transfer, action);
    });
  }
}

}  // namespace

MpiIoHints direct_io_hints() {
  return {{"collective_buffering", "false"},  // OMPIO
          {"romio_cb_write", "disable"},
          {"romio_cb_read", "disable"},
          {"romio_ds_write", "disable"},  // no read-modify-write: a neighbour writes the bytes between
          {"romio_ds_read", "disable"}};
}

H5File open_parallel(const MpiComm& comm, const std::filesystem::path& path, H5File::Access access,
                     const MpiIoHints& hints) {
  silence_h5_errors();
  const std::string action = "open " + path.string();
  const unsigned flags = access == H5File::Access::read ? H5F_ACC_RDONLY : H5F_ACC_RDWR;
  std::optional<H5File> file;
  run_phase(comm, [&] {
    const H5Properties properties(SHARDGPT_H5(action, H5Pcreate(H5P_FILE_ACCESS)));
    const MpiInfo info = make_info(hints);  // HDF5 keeps a copy
    SHARDGPT_H5(action, H5Pset_fapl_mpio(properties.get(), comm.raw(), info.get()));
    file.emplace(SHARDGPT_H5(action, H5Fopen(path.c_str(), flags, properties.get())), path);
  });
  return std::move(*file);
}

void write_collective(const MpiComm& comm, H5File& file, const std::string& name,
                      std::span<const FloatChunk<const float>> chunks) {
  transfer_rounds(comm, file, name, "write", chunks,
                  [&](const H5Dataset& dataset, const H5Selection& selection, const H5Properties& transfer,
                      const float* values) {
                    SHARDGPT_H5(h5_action("write", name, file),
                                H5Dwrite(dataset.get(), H5T_NATIVE_FLOAT, selection.memory.get(),
                                         selection.file.get(), transfer.get(), values));
                  });
}

void read_collective(const MpiComm& comm, const H5File& file, const std::string& name,
                     std::span<const FloatChunk<float>> chunks) {
  transfer_rounds(comm, file, name, "read", chunks,
                  [&](const H5Dataset& dataset, const H5Selection& selection, const H5Properties& transfer,
                      float* values) {
                    SHARDGPT_H5(h5_action("read", name, file),
                                H5Dread(dataset.get(), H5T_NATIVE_FLOAT, selection.memory.get(),
                                        selection.file.get(), transfer.get(), values));
                  });
}

void flush_parallel(const MpiComm& comm, H5File& file) {
  run_phase(comm, [&] { file.flush(); });
}

void close_parallel(const MpiComm& comm, H5File& file) {
  run_phase(comm, [&] { file.close(); });
}

}  // namespace shardgpt
