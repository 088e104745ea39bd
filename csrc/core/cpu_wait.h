// Lets a thread of perfprobe wait until a time, until it is woken, or until an idle process runs
// again.
//
// A timer on the process's CPU clock sends a signal to the waiting thread only. That thread blocks
// all signals, as every NativeThread does, and takes this one out of the queue. No handler runs,
// and no other thread notices it.
#pragma once

#include <cstdint>
#include <time.h>

namespace perfprobe {

class CpuWait {
 public:
  // Both are called on the thread that waits. It then gets a processor soon after it wakes.
  void begin();
  void end();

  // The signal that ends a wait. Whoever wakes the thread sends it.
  static int signal();

  // Ends the following waits once the process with all its threads has used `cpu_ns` more CPU time.
  // Returns false if the kernel provides no timer. The kernel checks at its own ticks, 1 to 10 ms
  // apart.
  bool watch(int64_t cpu_ns);
  void unwatch();

  // Returns false if the wait ended before `due_ns` (CLOCK_MONOTONIC).
  bool wait_until(int64_t due_ns);

 private:
  timer_t timer_{};
  bool has_timer_ = false;
};

}  // namespace perfprobe
