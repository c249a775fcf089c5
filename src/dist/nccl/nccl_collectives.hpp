#pragma once

#include <chrono>
#include <memory>

#include "device/device.hpp"
#include "dist/collectives.hpp"
#include "dist/mpi/mpi_session.hpp"

namespace shardgpt {

/// Collectives between CUDA devices over NCCL, on one communicator that is started over MPI. Collective over
/// `parent`; the calling thread's CUDA device is that of `device`. A single rank needs no NCCL.
///
/// Sums of all_reduce_sum are taken in rank order; those of reduce_scatter in an order that NCCL chooses by
/// the layout of the nodes, the same in every run on that layout. An operation that peers do not complete
/// within `time_out` fails the device; where that does not end the process, NcclWatch::grace later it is
/// ended. `parent`, the session and `device` must outlive the result, and the device's streams must be idle
/// when it is destroyed.
[[nodiscard]] std::unique_ptr<Collectives> make_nccl_collectives(const MpiComm& parent, Device& device,
                                                                 std::chrono::seconds time_out);

}  // namespace shardgpt
