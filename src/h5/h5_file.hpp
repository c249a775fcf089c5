#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "h5/h5_error.hpp"
#include "h5/unique_handle.hpp"

namespace shardgpt {

/// How HDF5 stores a dataset of numbers.
struct H5DatasetShape {
  std::vector<std::int64_t> dims;
  bool is_float32 = false;        ///< IEEE binary32, little-endian
  bool is_contiguous = false;     ///< one run of bytes in the file
  std::int64_t file_offset = -1;  ///< first byte in the file, where contiguous
  std::int64_t stored_bytes = 0;
};

/// A run of elements of a virtual dataset, and the dataset of another file that holds them.
struct H5VirtualRun {
  std::int64_t begin = 0;  ///< first element of the run within the virtual dataset
  std::int64_t count = 0;
  std::string file;  ///< its name, relative to the folder of the file with the virtual dataset
  std::string dataset;
  std::int64_t offset = 0;  ///< first element of the run within `dataset`

  friend bool operator==(const H5VirtualRun&, const H5VirtualRun&) = default;
};

struct H5CreateOptions {
  /// Objects of at least this size start at a multiple of it. The default is a common stripe and block size
  /// of parallel file systems.
  std::int64_t alignment_bytes = std::int64_t{1} << 20;
  bool virtual_datasets = false;  ///< the file may hold such: HDF5 1.10 or later reads it, otherwise 1.8
};

/// Move-only owner of an open HDF5 file. Datasets are named by their absolute path ("/units/root/param").
/// Every method throws H5Error naming the file and the dataset. HDF5 is not thread-safe: one thread only.
class H5File {
 public:
  enum class Access { read, read_write };

  /// A new file through plain POSIX calls; fails where `path` exists. Superblock version 2: HDF5 checksums
  /// its own metadata.
  [[nodiscard]] static H5File create(const std::filesystem::path& path, const H5CreateOptions& options = {});
  [[nodiscard]] static H5File open(const std::filesystem::path& path, Access access);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Writes HDF5's buffers out; on a file opened in parallel collective, and synchronises the file.
  void flush();
  /// Closes now, so that a late error is seen. The destructor closes too, but only logs.
  void close();

  void create_group(const std::string& name);

  /// A float32 dataset of one or two dimensions, contiguous, its space allocated now and never filled.
  void create_floats(const std::string& name, std::span<const std::int64_t> dims);
  /// Elements in the order of memory; of a two-dimensional dataset whole rows only.
  void write_floats(const std::string& name, std::int64_t begin, std::span<const float> values);
  void read_floats(const std::string& name, std::int64_t begin, std::span<float> values) const;

  /// A float32 dataset of one dimension that holds no values: readers find them in other files. `runs` must
  /// not overlap; what none covers reads as 0. HDF5 cannot read it through MPI-IO.
  void create_virtual_floats(const std::string& name, std::int64_t elements,
                             std::span<const H5VirtualRun> runs);
  /// The runs of such a dataset, as they were given.
  [[nodiscard]] std::vector<H5VirtualRun> virtual_runs_of(const std::string& name) const;

  /// One text as a scalar fixed-length UTF-8 string dataset (no attribute: those end at 64 KiB). Not empty.
  void create_text(const std::string& name, const std::string& text);
  /// Refuses more than `size_limit` bytes before it allocates them.
  [[nodiscard]] std::string read_text(const std::string& name, std::int64_t size_limit) const;

  /// A one-dimensional dataset of fixed-length strings, each `width` bytes, padded with zeros.
  void create_texts(const std::string& name, std::span<const std::string> texts, std::size_t width);
  /// Exactly `count` texts of at most `width_limit` bytes.
  [[nodiscard]] std::vector<std::string> read_texts(const std::string& name, std::int64_t count,
                                                    std::size_t width_limit) const;

  /// A dataset of the shape `dims` (empty: scalar). T: int32_t, int64_t, uint32_t, float.
  template <class T>
  void create_array(const std::string& name, std::span<const std::int64_t> dims, std::span<const T> values);
  /// The whole dataset, whose shape must be `dims`.
  template <class T>
  [[nodiscard]] std::vector<T> read_array(const std::string& name, std::span<const std::int64_t> dims) const;

  [[nodiscard]] bool contains(const std::string& name) const;
  [[nodiscard]] H5DatasetShape shape_of(const std::string& name) const;

  /// Takes over an HDF5 file identifier; for the sources of this folder.
  H5File(std::int64_t id, std::filesystem::path path) : handle_(id), path_(std::move(path)) {}
  [[nodiscard]] std::int64_t id() const { return handle_.get(); }

 private:
  struct Traits {
    using Raw = std::int64_t;
    static constexpr Raw null = -1;
    static void close(Raw raw) noexcept;
  };

  UniqueHandle<Traits> handle_;
  std::filesystem::path path_;
};

}  // namespace shardgpt
