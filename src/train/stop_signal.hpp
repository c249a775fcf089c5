#pragma once

namespace shardgpt {

/// From here on TERM and USR1 only set a flag: the run saves at a step's border and ends. Further ones change
/// nothing, so that a save is not cut. INT keeps its meaning.
void catch_stop_signals();

/// Whether such a signal has come.
[[nodiscard]] bool stop_signal_received();

}  // namespace shardgpt
