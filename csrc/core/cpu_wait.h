// How a thread of ours waits: until a time, until it is woken, and, while the rest of the process
// stands still, until that works again.
//
// A timer on the process's CPU clock sends a signal to the waiting thread alone. That blocks all
// signals, as every NativeThread does, and takes this one out of the queue: no handler runs, and no
// other thread sees anything of it.
#pragma once

#include <cstdint>
#include <time.h>

namespace perfprobe {

class CpuWait {
 public:
  // On the thread that will wait, and that ends it again.
  void begin();
  void end();

  // The signal that ends a wait, to be sent by whoever wakes the thread.
  static int signal();

  // Has the next waits end when the process, with all its threads, has used `cpu_ns` more. False
  // where the kernel gives no timer. Times are taken at the kernel's own ticks, 1 to 10 ms apart.
  bool watch(int64_t cpu_ns);
  void unwatch();

  // False when it was ended before `due_ns` (CLOCK_MONOTONIC).
  bool wait_until(int64_t due_ns);

 private:
  timer_t timer_{};
  bool has_timer_ = false;
};

}  // namespace perfprobe
