#include <cstring>
#include <iostream>
#include <string>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "tests/cuda_on_host/nccl/communicator.hpp"
#include "tests/cuda_on_host/runtime/memory.hpp"

using namespace nccl_on_host;

namespace {

ncclResult_t refuse(ncclResult_t code, const std::string& why) {
  std::cerr << ("nccl_on_host: " + why + "\n") << std::flush;
  return code;
}

/// ncclSuccess where the buffers of an operation are device memory of the right size, and one lies within the
/// other only at the place where NCCL works in place.
ncclResult_t check_buffers(const char* call, const Operation& operation, std::size_t sent,
                           std::size_t received, std::size_t own_piece) {
  const std::size_t element = type_bytes(operation.type);
  if (element == 0) {
    return refuse(ncclInvalidArgument, std::string(call) + ": a data type that is not modelled");
  }
  for (const auto& [name, address, elements] :
       {std::tuple("send", operation.send, sent),
        std::tuple("receive", static_cast<const void*>(operation.receive), received)}) {
    const std::string wrong =
        cuda_on_host::check_range(address, elements * element, cuda_on_host::MemoryKind::device);
    if (!wrong.empty()) {
      return refuse(ncclInvalidArgument, std::string(call) + ": " + name + " buffer: " + wrong);
    }
  }
  const auto* send = static_cast<const std::byte*>(operation.send);
  const auto* receive = static_cast<const std::byte*>(operation.receive);
  const bool overlap = send < receive + received * element && receive < send + sent * element;
  const bool in_place =
      sent < received ? send == receive + own_piece * element : receive == send + own_piece * element;
  if (overlap && !in_place) {
    return refuse(ncclInvalidArgument,
                  std::string(call) + ": the buffers overlap, and not in the place for it");
  }
  return ncclSuccess;
}

std::size_t ranks(ncclComm_t comm) {
  return static_cast<std::size_t>(comm->shared().size);
}

std::size_t rank(ncclComm_t comm) {
  return static_cast<std::size_t>(comm->shared().rank);
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId) {
  try {
    const MeetingPoint meeting = new_meeting_point();
    *uniqueId = {};
    static_assert(sizeof(meeting) <= sizeof(uniqueId->internal));
    std::memcpy(uniqueId->internal, &meeting, sizeof(meeting));
    return ncclSuccess;
  } catch (const std::exception& error) {
    return refuse(ncclSystemError, error.what());
  }
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                    ncclConfig_t* config) {
  if (nranks < 1 || rank < 0 || rank >= nranks) {
    return refuse(ncclInvalidArgument, "ncclCommInitRankConfig: no such rank");
  }
  MeetingPoint meeting;
  std::memcpy(&meeting, commId.internal, sizeof(meeting));
  const bool blocking = config == nullptr || config->blocking != 0;
  *comm = new ncclComm(rank, nranks, meeting, blocking);
  return blocking
             ? refuse(ncclInvalidUsage, "ncclCommInitRankConfig: blocking communicators are not modelled")
             : ncclInProgress;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return comm->finalize();
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  comm->abort();
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError) {
  *asyncError = comm->shared().state;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclInProgress:
      return "operation in progress";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclSystemError:
      return "system error";
    default:
      return "an error that the host implementation has no text for";
  }
}

const char* ncclGetLastError(ncclComm_t comm) {
  return comm == nullptr ? "" : comm->shared().last_error();
}

ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, std::size_t sendcount,
                           ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream) {
  const Operation operation{Kind::all_gather, sendbuff, recvbuff, sendcount, datatype, stream};
  const ncclResult_t code =
      check_buffers("ncclAllGather", operation, sendcount, sendcount * ranks(comm), sendcount * rank(comm));
  return code != ncclSuccess ? code : comm->submit(operation);
}

ncclResult_t ncclReduceScatter(const void* sendbuff, void* recvbuff, std::size_t recvcount,
                               ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream) {
  const Operation operation{Kind::reduce_scatter, sendbuff, recvbuff, recvcount, datatype, stream};
  if (op != ncclSum) {
    return refuse(ncclInvalidArgument, "ncclReduceScatter: only sums are modelled");
  }
  const ncclResult_t code = check_buffers("ncclReduceScatter", operation, recvcount * ranks(comm), recvcount,
                                          recvcount * rank(comm));
  return code != ncclSuccess ? code : comm->submit(operation);
}
