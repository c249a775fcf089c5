#include "tokens/lost_pages.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include <unistd.h>

#include "core/error.hpp"

namespace shardgpt {
namespace {

std::atomic<MappedRange*> first_range{nullptr};

// Set once, before the handler is installed.
std::string message_prefix;
struct sigaction previous_action;

void write_text(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// Decimal digits, without what may allocate or lock.
void write_number(std::size_t value) {
  std::array<char, 20> digits{};
  std::size_t at = digits.size();
  do {
    digits[--at] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value > 0);
  write_text({digits.data() + at, digits.size() - at});
}

extern "C" void on_bus_error(int signal, siginfo_t* info, void* /*context*/) {
  const MappedRange* const range = MappedRange::find(info->si_addr);
  if (range == nullptr) {
    ::sigaction(signal, &previous_action, nullptr);
    return;  // the access is tried again and fails again
  }
  write_text(message_prefix);
  write_text(": error: ");
  write_text(range->path());
  write_text(": byte ");
  write_number(range->offset_of(info->si_addr));
  write_text(" can no longer be read: the file was cut short while in use, or its disk fails\n");
  ::_exit(exit_error);
}

}  // namespace

MappedRange::MappedRange(std::span<const std::byte> bytes, std::string path)
    : begin_(bytes.data()), size_(bytes.size()), path_(std::move(path)) {}

MappedRange* MappedRange::add(std::span<const std::byte> bytes, std::string path) {
  auto* const range = new MappedRange(bytes, std::move(path));
  range->next_ = first_range.load();
  while (!first_range.compare_exchange_weak(range->next_, range)) {
  }
  return range;
}

const MappedRange* MappedRange::find(const void* address) {
  for (const MappedRange* range = first_range.load(); range != nullptr; range = range->next_) {
    const std::byte* const begin = range->begin_.load();
    if (begin != nullptr && address >= begin && address < begin + range->size_) {
      return range;
    }
  }
  return nullptr;
}

std::size_t MappedRange::offset_of(const void* address) const {
  return static_cast<std::size_t>(static_cast<const std::byte*>(address) - begin_.load());
}

void explain_lost_pages(std::string prefix) {
  message_prefix = std::move(prefix);
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  if (::sigaction(SIGBUS, &action, &previous_action) != 0) {
    throw std::system_error(errno, std::generic_category(), "sigaction");
  }
}

}  // namespace shardgpt
