#include "cpu/perf/event_ring.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace perfprobe {

EventRing::EventRing(EventRing&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_), page_(other.page_) {}

EventRing::~EventRing() {
  if (memory_ != nullptr)
    ::munmap(memory_, bytes_);
}

int EventRing::map(int event) {
  page_ = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  bytes_ = (kPages + 1) * page_;
  void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
  if (memory == MAP_FAILED)
    return errno;
  memory_ = memory;
  return 0;
}

// The kernel moves data_head after it has written a record, and writes none beyond data_tail.
void EventRing::take(std::vector<InstructionSample>& samples, int64_t& lost) {
  if (memory_ == nullptr)
    return;
  auto* page = static_cast<perf_event_mmap_page*>(memory_);
  const uint64_t head = std::atomic_ref<__u64>(page->data_head).load(std::memory_order_acquire);
  uint64_t at = page->data_tail;
  while (at < head) {
    perf_event_header header{};
    copy(at, &header, sizeof header);
    if (header.size < sizeof header)  // never written by a kernel
      break;
    add(header, at, samples, lost);
    at += header.size;
  }
  std::atomic_ref<__u64>(page->data_tail).store(head, std::memory_order_release);
}

void EventRing::add(const perf_event_header& header, uint64_t at,
                    std::vector<InstructionSample>& samples, int64_t& lost) const {
  std::array<uint64_t, 5> body{};
  copy(at + sizeof header, body.data(), std::min<size_t>(header.size - sizeof header, sizeof body));
  if (header.type == PERF_RECORD_LOST)
    lost += static_cast<int64_t>(body[1]);
  if (header.type != PERF_RECORD_SAMPLE)
    return;
  const auto [address, ids, time, abi, user] = body;
  const bool has_user = abi != PERF_SAMPLE_REGS_ABI_NONE;
  samples.push_back({address, has_user ? user : 0, static_cast<int64_t>(time),
                     static_cast<int32_t>(ids), static_cast<int32_t>(ids >> 32),
                     (header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL});
}

void EventRing::copy(uint64_t at, void* into, size_t bytes) const {
  const char* data = static_cast<const char*>(memory_) + page_;
  const size_t size = bytes_ - page_;
  const size_t start = at % size;
  const size_t first = std::min(bytes, size - start);
  std::memcpy(into, data + start, first);
  std::memcpy(static_cast<char*>(into) + first, data, bytes - first);
}

}  // namespace perfprobe
