// Estimates how much of the time the main thread executes Python instructions.
//
// Up to Python 3.11 each instruction is slower under a profile hook, twice as slow in 3.11, whether
// it calls anything or not. This is a cost of counting calls. So the writer regularly looks at the
// main thread twice within a microsecond. If its instruction changed, it executes instructions. If
// not, it may have been interrupted, often because the writer took its processor: then it stands
// at each instruction as often as it executes it, and native code is never inside of a load.
#pragma once

#include <atomic>
#include <cstdint>
#include <time.h>

#include <Python.h>

#include "core/own_memory.h"
#include "core/recorder.h"

namespace perfprobe {

class CallProfile;

// Never destroyed: the writer or a pending call may still use it.
class BytecodeProbe {
 public:
  BytecodeProbe(Recorder& recorder, CallProfile& profile)
      : recorder_(recorder), profile_(profile) {}

  // Called on the main thread with the GIL.
  void begin();
  void end() { looks_ = false; }
  // Returns the CPU time spent in instructions since the last call.
  int64_t take_ns() { return seen_ns_.exchange(0); }

 private:
  static constexpr int64_t kGapNs = 10'000'000;
  static constexpr int64_t kRestNs =
      500'000'000;  // from this gap on, it looks at the writer's heartbeats
  static constexpr int64_t kManyNs = 100'000'000;
  static constexpr int64_t kMostJudgedNs = 2 * kGapNs;  // of one look
  // Part of the time of instructions that passes in loads: 0.10 to 0.29 in ten programs (copies,
  // tokens, data loaders, training ...), of which this is the median.
  static constexpr double kLoads = 0.18;

  static void look(void* probe);
  static int settle(void* probe);
  void hurry();
  void set_alarm();

  Recorder& recorder_;
  CallProfile& profile_;
  PyThreadState* state_ = nullptr;
  const OwnMemory memory_{OwnMemory::Way::system_call};
  clockid_t clock_ = 0;      // the main thread's CPU time
  int64_t looked_ns_ = 0;    // the CPU clock at the last look
  int64_t gap_ns_ = kGapNs;  // until the next look; doubles while the main thread does not run
  std::atomic<bool> looks_ = false;
  std::atomic<int64_t> seen_ns_ = 0;
};

}  // namespace perfprobe
