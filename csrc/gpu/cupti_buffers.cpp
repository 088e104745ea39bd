#include "gpu/cupti_buffers.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/mapped_memory.h"

namespace perfprobe {

CuptiBuffers::Slot* CuptiBuffers::find(State state) {
  const auto found = std::ranges::find(slots_, state, &Slot::state);
  return found == slots_.end() ? nullptr : &*found;
}

size_t CuptiBuffers::count(State state) const {
  return static_cast<size_t>(std::ranges::count(slots_, state, &Slot::state));
}

uint8_t* CuptiBuffers::request() {
  const std::lock_guard lock(mutex_);
  ++figures_.requested;
  const size_t used = kMost - count(State::absent) - count(State::free);
  Slot* slot = used < limit_ ? find(State::free) : nullptr;
  if (slot == nullptr && used < limit_) {
    slot = find(State::absent);
    try {
      slot->memory = static_cast<uint8_t*>(map_bytes(kBytes));
    } catch (const std::bad_alloc&) {
      slot = nullptr;
    }
  }
  if (slot == nullptr) {
    ++figures_.refused;
    return nullptr;
  }
  slot->state = State::lent;
  figures_.most_used = std::max(figures_.most_used, static_cast<int64_t>(used) + 1);
  return slot->memory;
}

void CuptiBuffers::complete(uint8_t* memory, size_t valid_bytes) {
  const std::lock_guard lock(mutex_);
  const auto slot = std::ranges::find(slots_, memory, &Slot::memory);
  if (memory == nullptr || slot == slots_.end() || slot->state != State::lent) {
    ++figures_.foreign;
    return;
  }
  ++figures_.completed;
  slot->valid_bytes = std::min(valid_bytes, kBytes);
  slot->order = ++completions_;
  slot->state = State::full;
  if (count(State::full) >= kManyFull)
    changed_.notify_one();
}

void CuptiBuffers::limit(size_t most) {
  const std::lock_guard lock(mutex_);
  limit_ = std::min(most, kMost);
}

// The lock is only held for the look through the list, as mapping and unmapping are slow.
void CuptiBuffers::keep_spares() {
  size_t spare = 0;
  {
    const std::lock_guard lock(mutex_);
    spare = count(State::free);
  }
  for (; spare < kSpare; ++spare) {
    void* memory = map_bytes(kBytes);
    const std::lock_guard lock(mutex_);
    Slot* slot = find(State::absent);
    if (slot == nullptr) {
      munmap(memory, kBytes);
      return;
    }
    slot->memory = static_cast<uint8_t*>(memory);
    slot->state = State::free;
  }
  for (; spare > 2 * kSpare; --spare) {
    void* memory = nullptr;
    {
      const std::lock_guard lock(mutex_);
      Slot* slot = find(State::free);
      if (slot == nullptr)
        return;
      memory = slot->memory;
      *slot = {};
    }
    munmap(memory, kBytes);
  }
}

CuptiBuffers::Full CuptiBuffers::take() {
  const std::lock_guard lock(mutex_);
  Slot* first = nullptr;
  for (Slot& slot : slots_) {
    if (slot.state == State::full && (first == nullptr || slot.order < first->order))
      first = &slot;
  }
  if (first == nullptr)
    return {};
  first->state = State::taken;
  return {first->memory, first->valid_bytes};
}

namespace {

// CUPTI is promised buffers of zeros and skips fields that a record does not use, such as the graph
// of a kernel. It reports which bytes are valid, not that it wrote nothing else. So the rest is
// returned to the kernel, which costs nothing for untouched pages.
void clear(uint8_t* memory, size_t valid_bytes) {
  const auto page = static_cast<size_t>(getpagesize());
  const size_t written = std::min((valid_bytes + page - 1) / page * page, CuptiBuffers::kBytes);
  std::memset(memory, 0, written);
  const size_t rest = CuptiBuffers::kBytes - written;
  if (rest > 0 && madvise(memory + written, rest, MADV_DONTNEED) != 0)
    std::memset(memory + written, 0, rest);  // the memory is locked
}

}  // namespace

void CuptiBuffers::give_back(const Full& full) {
  clear(full.memory, full.valid_bytes);
  const std::lock_guard lock(mutex_);
  std::ranges::find(slots_, full.memory, &Slot::memory)->state = State::free;
}

void CuptiBuffers::wait(int64_t due_ns) {
  std::unique_lock lock(mutex_);
  const std::chrono::nanoseconds rest(due_ns - monotonic_ns());
  changed_.wait_for(lock, rest, [this] { return is_woken_ || count(State::full) >= kManyFull; });
  is_woken_ = false;
}

void CuptiBuffers::wake() {
  const std::lock_guard lock(mutex_);
  is_woken_ = true;
  changed_.notify_all();
}

BufferFigures CuptiBuffers::figures() {
  const std::lock_guard lock(mutex_);
  return figures_;
}

}  // namespace perfprobe
