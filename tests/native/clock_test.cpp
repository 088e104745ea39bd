// Converted ticks, compared with the kernel's clock read before and after.
#include "core/clock.h"

#include <cstdint>

#include "check.h"

namespace {

void ticks_become_monotonic_nanoseconds() {
  perfprobe::TickConverter converter;
  int outside = 0;
  for (int round = 0; round < 50; ++round) {
    const int64_t before_ns = perfprobe::monotonic_ns();
    const int64_t ticks = perfprobe::read_ticks();
    const int64_t after_ns = perfprobe::monotonic_ns();
    while (perfprobe::monotonic_ns() < after_ns + 200'000) {
    }
    converter.add_pair();
    const int64_t ns = converter.to_ns(ticks);
    // The first rate comes from one millisecond and has an error of at most 1e-4. Here it is used
    // for ten milliseconds.
    constexpr int64_t kSlackNs = 20'000;
    outside += ns < before_ns - kSlackNs || ns > after_ns + kSlackNs ? 1 : 0;
  }
  // A round may fail if the scheduler interrupted between the two reads of a pair.
  CHECK(outside <= 2);
}

// With pairs microseconds apart the rate would be a random walk.
void the_rate_stays_exact_after_many_pairs() {
  perfprobe::TickConverter converter;
  const int64_t ns = perfprobe::monotonic_ns();
  const int64_t ticks = perfprobe::read_ticks();
  while (perfprobe::monotonic_ns() < ns + 200'000'000)
    converter.add_pair();
  const int64_t error_ns = converter.to_ns(ticks) - ns;
  CHECK(error_ns > -20'000 && error_ns < 20'000);
}

void converted_time_never_runs_backwards() {
  perfprobe::TickConverter converter;
  int64_t last = 0;
  int backwards = 0;
  for (int round = 0; round < 2000; ++round) {
    if (round % 100 == 0)
      converter.add_pair();
    const int64_t ns = converter.to_ns(perfprobe::read_ticks());
    backwards += ns < last ? 1 : 0;
    last = ns;
  }
  CHECK(backwards <= 20);  // only where a new pair moves the line, by nanoseconds
}

}  // namespace

int main() {
  ticks_become_monotonic_nanoseconds();
  the_rate_stays_exact_after_many_pairs();
  converted_time_never_runs_backwards();
  return perfprobe::test::report();
}
