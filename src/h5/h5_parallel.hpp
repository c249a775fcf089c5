#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dist/mpi/mpi_session.hpp"
#include "h5/h5_file.hpp"

namespace shardgpt {

/// A run of elements of a one-dimensional float32 dataset and the memory that holds or receives it.
template <class T>
struct FloatChunk {
  std::int64_t begin = 0;
  std::span<T> values;
};

/// Appends `values`, which start at element `begin`, to `chunks` in parts of at most `limit_bytes`.
template <class T>
void append_chunks(std::vector<FloatChunk<T>>& chunks, std::int64_t begin, std::span<T> values,
                   std::int64_t limit_bytes) {
  const std::size_t limit = std::max<std::size_t>(1, static_cast<std::size_t>(limit_bytes) / sizeof(float));
  for (std::size_t done = 0; done < values.size(); done += limit) {
    chunks.push_back({begin + static_cast<std::int64_t>(done),
                      values.subspan(done, std::min(limit, values.size() - done))});
  }
}

/// Hints for MPI-IO, key and value, as the MPI library documents them.
using MpiIoHints = std::vector<std::pair<std::string, std::string>>;

/// No collective buffering: each rank moves one long run of bytes of its own, and passing that through
/// aggregators only copies it. Keys of Open MPI's OMPIO and of ROMIO; others ignore them.
[[nodiscard]] MpiIoHints direct_io_hints();

/// Opens an existing file on all ranks of `comm` through MPI-IO. Collective; errors are agreed on.
[[nodiscard]] H5File open_parallel(const MpiComm& comm, const std::filesystem::path& path,
                                   H5File::Access access, const MpiIoHints& hints = direct_io_hints());

/// Writes this rank's chunks of dataset `name`, one collective call a round. Ranks may bring unlike numbers
/// of chunks, also none: all take part in as many rounds as the longest list has. Throws, on all ranks, where
/// any rank failed or HDF5 did not write collectively.
void write_collective(const MpiComm& comm, H5File& file, const std::string& name,
                      std::span<const FloatChunk<const float>> chunks);

/// The same for reading.
void read_collective(const MpiComm& comm, const H5File& file, const std::string& name,
                     std::span<const FloatChunk<float>> chunks);

/// Collective flush and close of a file opened with open_parallel; errors are agreed on.
void flush_parallel(const MpiComm& comm, H5File& file);
void close_parallel(const MpiComm& comm, H5File& file);

}  // namespace shardgpt
