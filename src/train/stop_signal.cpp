#include "train/stop_signal.hpp"

#include <csignal>
#include <initializer_list>

namespace shardgpt {
namespace {

volatile std::sig_atomic_t received = 0;

extern "C" void remember_signal(int /*signal*/) {
  received = 1;
}

}  // namespace

void catch_stop_signals() {
  struct sigaction action = {};
  action.sa_handler = remember_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGTERM, SIGUSR1}) {
    sigaction(signal, &action, nullptr);
  }
}

bool stop_signal_received() {
  return received != 0;
}

}  // namespace shardgpt
