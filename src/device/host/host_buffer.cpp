#include "device/host/host_buffer.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/mman.h>

#include "core/error.hpp"

namespace shardgpt {
namespace {

/// An anonymous mapping: zero pages, placed on first touch, huge pages where the system has them.
class HostStorage final : public Buffer::Storage {
 public:
  HostStorage(std::shared_ptr<MemoryLedger> ledger, std::size_t bytes, std::string category)
      : ledger_(std::move(ledger)), bytes_(bytes), category_(std::move(category)) {
    data_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data_ == MAP_FAILED) {
      throw Error("cannot allocate " + std::to_string(bytes_) + " bytes for " + category_ + ": " +
                  std::strerror(errno));
    }
    ::madvise(data_, bytes_, MADV_HUGEPAGE);  // advice: a refusal costs speed only
    ledger_->add(category_, bytes_);
  }
  HostStorage(const HostStorage&) = delete;
  HostStorage& operator=(const HostStorage&) = delete;
  ~HostStorage() override {
    ::munmap(data_, bytes_);
    ledger_->remove(category_, bytes_);
  }
  [[nodiscard]] void* data() const override { return data_; }

 private:
  std::shared_ptr<MemoryLedger> ledger_;
  std::size_t bytes_;
  std::string category_;
  void* data_ = nullptr;
};

}  // namespace

Buffer allocate_host_buffer(std::shared_ptr<MemoryLedger> ledger, std::size_t bytes,
                            const std::string& category) {
  if (bytes == 0) {
    return {};
  }
  return {std::make_unique<HostStorage>(std::move(ledger), bytes, category), bytes};
}

}  // namespace shardgpt
