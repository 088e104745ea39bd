// Clocks of the recording. Every time written to the file is int64 nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <span>
#include <sys/resource.h>
#include <time.h>

namespace perfprobe {

constexpr int64_t kSecondNs = 1'000'000'000;

inline int64_t read_clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<int64_t>(now.tv_sec) * kSecondNs + now.tv_nsec;
}

inline int64_t monotonic_ns() {
  return read_clock_ns(CLOCK_MONOTONIC);
}

// Takes about 440 ns (a system call); monotonic_ns takes 21 ns.
inline int64_t thread_cpu_ns() {
  return read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

// Page faults of this thread that needed no disk. A system call, as expensive as thread_cpu_ns.
inline int64_t thread_faults() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  return used.ru_minflt;
}

inline int64_t process_cpu_ns() {
  return read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

// True if the kernel itself derives CLOCK_MONOTONIC from the time stamp counter. It does that only
// if the counter has a constant rate and is synchronous on all processors.
bool kernel_trusts_tsc();

// The cheapest clock of this machine: ticks of the time stamp counter (8 ns cheaper than the
// clock), or nanoseconds if the counter is not reliable. TickConverter converts both to
// nanoseconds. The recorder decides; other extension modules follow it.
inline bool ticks_are_tsc = kernel_trusts_tsc();

inline int64_t read_ticks() {
  return ticks_are_tsc ? static_cast<int64_t>(__builtin_ia32_rdtsc()) : monotonic_ns();
}

// Converts ticks to CLOCK_MONOTONIC by interpolation between paired readings of both clocks. Pairs
// are taken regularly, because the kernel slews its clock: one rate for a whole recording would
// drift.
class TickConverter {
 public:
  TickConverter();

  // Takes a new pair. Ticks up to now can then be converted.
  void add_pair();
  [[nodiscard]] int64_t to_ns(int64_t ticks) const;
  // Converts many ticks in place. Neighbours mostly lie between the same two pairs.
  void to_ns(std::span<int64_t> ticks) const;

 private:
  struct Pair {
    int64_t ticks;
    int64_t ns;
    double ns_per_tick;   // from this pair to the next
    bool broken = false;  // the clocks diverged before the next pair: the machine slept
  };
  // The line that converts the ticks from `first` to `last`.
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
