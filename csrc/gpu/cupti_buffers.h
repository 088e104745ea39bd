// The memory that CUPTI writes its records to, requested and returned by any thread, within the
// program's launches. While spare buffers last nothing is allocated there, and the lock is only
// held for a look through the list.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace perfprobe {

struct BufferFigures {
  int64_t requested = 0;
  int64_t completed = 0;
  int64_t refused = 0;  // requests that got no memory
  int64_t foreign = 0;  // returned buffers that were not requested here
  int64_t most_used = 0;

  // Buffers that CUPTI still has.
  [[nodiscard]] int64_t lent() const { return requested - completed - refused; }
};

// Never destroyed: CUPTI may keep a buffer for ever.
class CuptiBuffers {
 public:
  static constexpr size_t kBytes = size_t{4} << 20;  // what CUPTI recommends: 1 to 10 MB
  static constexpr size_t kSpare = 4;                // free buffers kept ready
  static constexpr size_t kMost = 512;

  struct Full {
    uint8_t* memory = nullptr;
    size_t valid_bytes = 0;
  };

  // Called by CUPTI. Returns null if `limit` buffers are in use.
  uint8_t* request();
  void complete(uint8_t* memory, size_t valid_bytes);

  // Sets how many buffers there may be, at most `kMost`.
  void limit(size_t most);
  // Makes spare buffers, and returns surplus ones to the kernel.
  void keep_spares();
  // Returns the buffer that has waited longest; its memory is null if there is none. Return it with
  // `give_back`.
  Full take();
  // Fills it with zeros and makes it available again.
  void give_back(const Full& full);
  // Waits until `due_ns` of the monotonic clock, `kManyFull` full buffers, or `wake`.
  void wait(int64_t due_ns);
  void wake();
  [[nodiscard]] BufferFigures figures();

 private:
  static constexpr size_t kManyFull = 2;
  enum class State : uint8_t { absent, free, lent, full, taken };
  struct Slot {
    uint8_t* memory = nullptr;
    size_t valid_bytes = 0;
    uint64_t order = 0;  // of completion
    State state = State::absent;
  };

  Slot* find(State state);
  [[nodiscard]] size_t count(State state) const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Slot, kMost> slots_{};
  size_t limit_ = kMost;
  uint64_t completions_ = 0;
  bool is_woken_ = false;
  BufferFigures figures_;
};

}  // namespace perfprobe
