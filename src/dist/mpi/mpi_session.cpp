#include "dist/mpi/mpi_session.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "core/checked.hpp"
#include "core/log.hpp"
#include "dist/mpi/mpi_wait.hpp"

namespace shardgpt {

void throw_mpi_error(int code, const char* call, const char* file, int line) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) {
    length = 0;
  }
  throw MpiError(std::string(file) + ":" + std::to_string(line) + ": " + call + ": " +
                 std::string(text.data(), static_cast<std::size_t>(length)));
}

MpiComm::MpiComm(MPI_Comm raw, Waiting waiting) : raw_(raw), waiting_(waiting) {
  SHARDGPT_MPI(MPI_Comm_set_errhandler(raw_, MPI_ERRORS_RETURN));
  SHARDGPT_MPI(MPI_Comm_rank(raw_, &rank_));
  SHARDGPT_MPI(MPI_Comm_size(raw_, &size_));
}

MpiComm MpiComm::duplicate(MPI_Comm parent, Waiting waiting) {
  MPI_Comm raw = MPI_COMM_NULL;
  SHARDGPT_MPI(MPI_Comm_dup(parent, &raw));
  return MpiComm(raw, waiting);
}

MpiComm::MpiComm(MpiComm&& other) noexcept
    : raw_(std::exchange(other.raw_, MPI_COMM_NULL)),
      waiting_(other.waiting_),
      rank_(other.rank_),
      size_(other.size_) {}

MpiComm& MpiComm::operator=(MpiComm&& other) noexcept {
  std::swap(raw_, other.raw_);
  std::swap(waiting_, other.waiting_);
  std::swap(rank_, other.rank_);
  std::swap(size_, other.size_);
  return *this;
}

MpiComm::~MpiComm() {
  // Freeing is collective: while an exception unwinds, a peer may never come.
  if (raw_ != MPI_COMM_NULL && std::uncaught_exceptions() == 0 && MPI_Comm_free(&raw_) != MPI_SUCCESS) {
    log_warning("MPI_Comm_free failed");
  }
}

MpiComm MpiComm::split_by_node() const {
  MPI_Comm raw = MPI_COMM_NULL;
  SHARDGPT_MPI(MPI_Comm_split_type(raw_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &raw));
  return MpiComm(raw, waiting_);
}

void MpiComm::complete(MPI_Request request) const {
  if (waiting_ == Waiting::sleeping) {
    (void)wait_sleeping(std::span(&request, 1));
  } else {
    SHARDGPT_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
}

MpiComm MpiComm::split(int colour) const {
  MPI_Comm raw = MPI_COMM_NULL;
  SHARDGPT_MPI(MPI_Comm_split(raw_, colour, rank_, &raw));
  return MpiComm(raw, waiting_);
}

void MpiComm::barrier() const {
  MPI_Request request = MPI_REQUEST_NULL;
  SHARDGPT_MPI(MPI_Ibarrier(raw_, &request));
  complete(request);
}

void MpiComm::broadcast(std::span<std::byte> bytes, int root) const {
  constexpr std::size_t piece = std::size_t{1} << 30;  // counts are int
  for (std::size_t begin = 0; begin < bytes.size(); begin += piece) {
    const auto count = static_cast<int>(std::min(piece, bytes.size() - begin));
    MPI_Request request = MPI_REQUEST_NULL;
    SHARDGPT_MPI(MPI_Ibcast(bytes.data() + begin, count, MPI_BYTE, root, raw_, &request));
    complete(request);
  }
}

std::string MpiComm::broadcast(const std::string& text, int root) const {
  std::uint64_t length = text.size();
  broadcast(std::as_writable_bytes(std::span(&length, 1)), root);
  std::string result = rank_ == root ? text : std::string(length, '\0');
  broadcast(std::as_writable_bytes(std::span(result.data(), result.size())), root);
  return result;
}

std::vector<std::uint64_t> MpiComm::all_gather(std::uint64_t value) const {
  std::vector<std::uint64_t> values(static_cast<std::size_t>(size_));
  MPI_Request request = MPI_REQUEST_NULL;
  // NOLINTNEXTLINE(mpi-type-mismatch): it does not know that uint64_t is MPI_UINT64_T
  SHARDGPT_MPI(MPI_Iallgather(&value, 1, MPI_UINT64_T, values.data(), 1, MPI_UINT64_T, raw_, &request));
  complete(request);
  return values;
}

std::vector<std::string> MpiComm::all_gather(const std::string& text) const {
  std::vector<std::string> texts(static_cast<std::size_t>(size_));
  for (int root = 0; root < size_; ++root) {
    texts[static_cast<std::size_t>(root)] = broadcast(text, root);
  }
  return texts;
}

std::int64_t MpiComm::reduce(std::int64_t value, MPI_Op operation) const {
  std::int64_t result = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  SHARDGPT_MPI(MPI_Iallreduce(&value, &result, 1, MPI_INT64_T, operation, raw_, &request));
  complete(request);
  return result;
}

std::int64_t MpiComm::sum(std::int64_t value) const {
  return reduce(value, MPI_SUM);
}

std::int64_t MpiComm::maximum(std::int64_t value) const {
  return reduce(value, MPI_MAX);
}

bool MpiComm::all(bool value) const {
  return maximum(value ? 0 : 1) == 0;
}

void agree_or_throw(const MpiComm& comm, const PhaseFailure& failure) {
  const std::int64_t none = comm.size();
  // The lowest failing rank: minimum, as the maximum of the negative.
  const std::int64_t first = -comm.maximum(failure.failed ? -static_cast<std::int64_t>(comm.rank()) : -none);
  if (first == none) {
    return;
  }
  const int root = narrow<int>(first);
  const bool bad_input = comm.maximum(comm.rank() == root && failure.bad_input ? 1 : 0) == 1;
  const std::string message = comm.broadcast(failure.message, root);
  if (bad_input) {
    throw InputError(message);
  }
  throw AgreedError(message);
}

bool MpiSession::initialize(int& argc, char**& argv) {
  int provided = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS) {
    throw Error("MPI_Init_thread failed");
  }
  if (provided < MPI_THREAD_SERIALIZED) {
    throw Error("this MPI does not let threads take turns (MPI_THREAD_SERIALIZED): use a build that does");
  }
  return provided == MPI_THREAD_MULTIPLE;
}

MpiSession::MpiSession(int& argc, char**& argv)
    : thread_multiple_(initialize(argc, argv)), world_(MpiComm::duplicate(MPI_COMM_WORLD)) {}

MpiSession::~MpiSession() {
  if (std::uncaught_exceptions() > 0) {
    return;  // finalizing waits for peers; main aborts the job instead
  }
  {
    const MpiComm last(std::move(world_));  // freed before MPI ends
  }
  MPI_Finalize();
}

std::string MpiSession::library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  SHARDGPT_MPI(MPI_Get_library_version(text.data(), &length));
  std::string version(text.data(), static_cast<std::size_t>(length));
  version.resize(std::min(version.size(), version.find('\0')));  // Open MPI counts the zero at the end
  return version;
}

void MpiSession::abort(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);  // MPI_Abort may return
}

}  // namespace shardgpt
