// Clocks of the recording: every time that leaves it is int64 nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <span>
#include <sys/resource.h>
#include <time.h>

#include <x86intrin.h>

namespace perfprobe {

inline int64_t read_clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

inline int64_t monotonic_ns() {
  return read_clock_ns(CLOCK_MONOTONIC);
}

// About 440 ns a read (a system call), against 21 ns for monotonic_ns.
inline int64_t thread_cpu_ns() {
  return read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

// Page faults of this thread that needed no disk: a system call, as dear as thread_cpu_ns.
inline int64_t thread_faults() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  return used.ru_minflt;
}

inline int64_t process_cpu_ns() {
  return read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

// True when the kernel itself keeps CLOCK_MONOTONIC by the time stamp counter, which it does only
// where the counter runs at one rate and in step on all processors.
bool kernel_trusts_tsc();

// The cheapest clock of this machine: time stamp counter ticks (8 ns cheaper a read than the
// clock), or nanoseconds where the counter is not to be trusted. TickConverter makes nanoseconds of
// both. The recorder decides; other extension modules take its choice over.
inline bool ticks_are_tsc = kernel_trusts_tsc();

inline int64_t read_ticks() {
  return ticks_are_tsc ? static_cast<int64_t>(__rdtsc()) : monotonic_ns();
}

// From ticks to CLOCK_MONOTONIC by paired readings of both, taken again and again: the kernel slews
// its clock, so one rate for a whole recording would drift; between two pairs it is a straight
// line.
class TickConverter {
 public:
  TickConverter();

  // A new pair. Ticks up to now can then be converted by interpolation.
  void add_pair();
  [[nodiscard]] int64_t to_ns(int64_t ticks) const;
  // The same of many, in place: neighbours mostly lie between the same two pairs.
  void to_ns(std::span<int64_t> ticks) const;

 private:
  struct Pair {
    int64_t ticks;
    int64_t ns;
    double ns_per_tick;   // from this pair to the next
    bool broken = false;  // the two clocks parted before the next pair: the machine slept
  };
  // What the ticks from `first` to `last` are converted by.
  struct Line {
    int64_t first;
    int64_t last;
    Pair through;

    [[nodiscard]] int64_t to_ns(int64_t ticks) const {
      return through.ns +
             static_cast<int64_t>(static_cast<double>(ticks - through.ticks) * through.ns_per_tick);
    }
  };
  [[nodiscard]] Line line_at(int64_t ticks) const;

  static std::atomic<double> known_rate_;

  static constexpr size_t kPairs = 4096;  // half an hour of pairs; older rows are on disk by then

  std::deque<Pair> pairs_;
};

}  // namespace perfprobe
