// The memory that CUPTI writes its records to: handed out and taken back from any thread, from
// within the program's own launches. Nothing is allocated there as long as spare buffers last, and
// nobody holds the lock for longer than a look through the list.
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
  int64_t foreign = 0;  // buffers that came back and were not ours
  int64_t most_used = 0;

  // Neither refused nor given back.
  [[nodiscard]] int64_t lent() const { return requested - completed - refused; }
};

// Never destroyed: CUPTI may hold a buffer for ever.
class CuptiBuffers {
 public:
  static constexpr size_t kBytes = size_t{4} << 20;  // what CUPTI recommends: 1 to 10 MB
  static constexpr size_t kSpare = 4;                // free ones that are kept at hand
  static constexpr size_t kMost = 128;

  struct Full {
    uint8_t* memory = nullptr;
    size_t valid_bytes = 0;
  };

  // For CUPTI. Null when there are `limit` buffers in use.
  uint8_t* request();
  void complete(uint8_t* memory, size_t valid_bytes);

  // How many buffers there may be: as many as `kMost`.
  void limit(size_t most);
  // Makes spare buffers, and gives surplus ones back to the kernel.
  void keep_spares();
  // The buffer that has waited longest; memory is null when none has. To be given back.
  Full take();
  // Makes all of it zeros.
  void give_back(const Full& full);
  // Until `due_ns` of the monotonic clock, or until `kManyFull` buffers wait, or `wake`.
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
