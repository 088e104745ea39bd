// The ranges that the program and its libraries name, on their way to the recording. Each thread
// writes events into its own ring, and the recorder's writer makes rows of them. A thread whose
// ring is full makes the rows itself.
//
// There is one log in the process. It is never destroyed: libraries call it from any thread until
// the very end. Locks, always taken in this order: `mutex_` (the list of threads, and making rows),
// then that of the names or of the recorder.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/recorder.h"
#include "gpu/range_event.h"
#include "gpu/range_matcher.h"
#include "gpu/range_names.h"
#include "gpu/range_sink.h"

namespace perfprobe {

struct RangeThread;

// A library of the program that sends ranges here.
struct RangeClient {
  RangeSource source;
  std::string file;
};

class RangeLog {
 public:
  static RangeLog& instance();

  // From now on ranges go into this recording. One at a time.
  void begin(Recorder& recorder);
  // Writes the rest; ranges that are still open get no end. Does nothing without `begin`.
  RangeFigures end();

  // Needs no instance: making one may throw std::bad_alloc, which the program must never see.
  [[nodiscard]] static bool is_recording() { return recording_.load(std::memory_order_relaxed); }
  // All clients since the process began.
  [[nodiscard]] std::vector<RangeClient> clients();

  // The functions for the injection libraries. perfprobe's own ranges use them too.
  static const RangeSink& sink();
  // Begins a nested range of perfprobe. Returns its number for `pop_own` on the same thread.
  int64_t push_own(const char* name);
  void pop_own(int64_t id);
  // Adds a range of the interpreter on this thread, from `start_ns` to now.
  void put_passed(const char* name, int64_t start_ns);

 private:
  friend struct RangeThreadEnd;

  RangeLog() = default;

  int32_t name(const char* text);
  int32_t name(const wchar_t* text);
  int64_t new_id();
  void put(RangeAct act, RangeSource source, int32_t domain, int32_t name, int64_t id);
  RangeThread* thread();
  RangeThread* add_thread();
  void remove_thread(RangeThread& thread);
  void free_ended();
  void attached(RangeSource source, const char* library);
  void make_rows();
  void make_room(RangeThread& thread);
  void take_from(RangeThread& thread);
  static void ring(void* log);
  void before_fork();
  void after_fork();
  void in_child();

  static inline std::atomic<bool> recording_{false};
  std::atomic<int64_t> lost_{0};  // out of memory, or the thread's data was freed already
  RangeNames names_;

  std::mutex mutex_;
  Recorder* recorder_ = nullptr;
  std::unique_ptr<RangeMatcher> matcher_;
  int64_t started_ns_ = 0;
  std::vector<RangeThread*> threads_;
  std::vector<RangeClient> clients_;
};

}  // namespace perfprobe
