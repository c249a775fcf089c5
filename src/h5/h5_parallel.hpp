#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/background_thread.hpp"
#include "core/page_cache.hpp"
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

/// Whether the ranks enter each transfer together (MPI_File_write_at_all) or on their own.
enum class MpiIoMode { collective, independent };

struct ParallelIo {
  MpiIoMode mode = MpiIoMode::collective;
  MpiIoHints hints = {};  ///< go before direct_io_hints(), and win where both name a key
};

/// An existing HDF5 file opened for writing on all ranks of a communicator through MPI-IO. All methods are
/// collective, in either mode; errors are agreed on, and every rank throws the same. Reading needs no MPI-IO:
/// see H5File.
class ParallelFile {
 public:
  /// `comm` must outlive the file. Throws InputError where MPI cannot take a hint, AgreedError with
  /// H5Error's text otherwise.
  ParallelFile(const MpiComm& comm, const std::filesystem::path& path, const ParallelIo& io = {});

  /// Writes this rank's chunks of dataset `name` and starts their way to the disk. Ranks may bring unlike
  /// numbers of chunks, also none. In collective mode there is one collective call a round and all take part
  /// in as many rounds as the longest list has; where HDF5 did not write collectively after all, that is an
  /// error. `local` runs what needs no peer: the transfers in independent mode, and the start of their way.
  void write(const std::string& name, std::span<const FloatChunk<const float>> chunks,
             const LocalRunner& local = {});

  void flush();
  /// Closes now, so that a late error is seen.
  void close();

 private:
  const MpiComm& comm_;
  MpiIoMode mode_;
  H5File file_;
  PageCacheAdvice advice_;
};

}  // namespace shardgpt
