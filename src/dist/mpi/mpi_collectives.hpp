#pragma once

#include <chrono>
#include <memory>

#include "device/device.hpp"
#include "dist/collectives.hpp"
#include "dist/mpi/mpi_session.hpp"

namespace shardgpt {

/// Collectives between host devices over MPI. Collective over `parent`, whose ranks get a communicator of
/// their own; only the communication thread of the device uses it afterwards. An operation that peers do not
/// complete within `time_out` fails the device. `parent` and the session must outlive the result, and its
/// streams must be idle when it is destroyed.
[[nodiscard]] std::unique_ptr<Collectives> make_mpi_collectives(const MpiComm& parent,
                                                                std::chrono::seconds time_out);

}  // namespace shardgpt
