// Faults of CUPTI versions (gpu/cupti_faults.h), simulated by the stand-in: clocks that are not
// used, buffers that come late or never, and buffers with leftover data.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/watching.h"
#include "on_standin.h"

using namespace perfprobe::test;
using perfprobe::Recorder;

namespace {

bool is_clock_spoilt() {
  const char* layout = std::getenv("STANDIN_LAYOUT");
  return layout == nullptr || std::string(layout) == "12.9" ||
         std::string(layout).starts_with("13.0");
}

// Another client has set its clock: ours is set again, and times are repaired.
void a_clock_that_was_replaced_is_set_again() {
  record([](Recorder&) { launch_many(1, 1); });
  find<uint32_t(uint64_t (*)())>("cuptiActivityRegisterTimestampCallback")(
      [] { return static_cast<uint64_t>(perfprobe::monotonic_ns() / 3); });
  const Result result = record([](Recorder&) { launch_many(20, 1); });
  CHECK_EQUAL(result.totals.kernels.calls, 20);
  CHECK_EQUAL(result.totals.kernels.ns, 20 * int64_t{kKernelNs});
  CHECK_EQUAL(result.figures.rows.foreign_times, 0);
  CHECK_EQUAL(result.figures.rows.shifted > 0, is_clock_spoilt());
}

// Below 13.1 the clock is registered once, and ours stays registered until the process ends.
void the_clock_is_reset_if_the_version_allows_it() {
  record([](Recorder&) { launch_many(1, 1); });
  const std::string layout = std::getenv("STANDIN_LAYOUT") ? std::getenv("STANDIN_LAYOUT") : "13.0";
  CHECK_EQUAL(has_default_clock(), layout == "13.1" || layout == "13.2" ? 1U : 0U);
}

void times_of_the_default_clock_are_converted() {
  const Setting setting("STANDIN_REALTIME", "4");
  const Result result = record([](Recorder&) { launch_many(100, 1); });
  CHECK_EQUAL(result.totals.kernels.calls, 100);
  CHECK_EQUAL(result.totals.kernels.ns, 100 * int64_t{kKernelNs});
  CHECK_EQUAL(result.figures.rows.shifted, 25);
  CHECK_EQUAL(result.figures.rows.foreign_times, 0);
  CHECK_EQUAL(result.figures.rows.untimed, 0);
}

void times_of_an_unknown_clock_are_left_out() {
  const Setting setting("STANDIN_STRANGE", "4");
  const Result result = record([](Recorder&) { launch_many(100, 1); });
  CHECK_EQUAL(result.totals.kernels.calls, 100);
  CHECK_EQUAL(result.totals.kernels.ns, 75 * int64_t{kKernelNs});
  CHECK_EQUAL(result.figures.rows.foreign_times, 25);
  CHECK_EQUAL(result.figures.rows.untimed, 0);
}

void a_refused_clock_ends_nothing() {
  const Setting setting("STANDIN_FAIL", "cuptiActivityRegisterTimestampCallback=14");
  const Result result = record([](Recorder&) { launch_many(20, 1); });
  CHECK_EQUAL(result.refusal, "");
  CHECK_EQUAL(result.totals.kernels.calls, 20);
  CHECK_EQUAL(result.totals.kernels.ns, 20 * int64_t{kKernelNs});
  CHECK(result.figures.rows.shifted > 0);
  CHECK_EQUAL(result.figures.rows.foreign_times, 0);
}

// A version may crash if records are fetched while the program runs.
void records_are_fetched_early_if_the_version_allows_it() {
  const Result result = record([](Recorder&) {
    launch_many(20, 1);
    ::usleep(600'000);
  });
  const char* layout = std::getenv("STANDIN_LAYOUT");
  const bool may_fetch = layout == nullptr || std::string(layout) != "13.0 GA";
  CHECK_EQUAL(result.figures.flushes > 0, may_fetch);
  CHECK_EQUAL(result.totals.kernels.calls, 20);
  perfprobe::is_in_window = false;
  record([may_fetch](Recorder&) { CHECK_EQUAL(kinds() >> 10 & 1, may_fetch ? 0U : 1U); });
  perfprobe::is_in_window = true;
}

// The last test: CUPTI is left as it is, until the process ends.
void work_that_never_ends_is_left_behind() {
  const int64_t begin_ns = perfprobe::monotonic_ns();
  const Result result = record([](Recorder&) {
    launch_many(20, 1);
    launch("spin", 3'600'000'000'000, 1);
  });
  CHECK(perfprobe::monotonic_ns() - begin_ns < 3'000'000'000);
  CHECK(result.figures.is_unfinished);
  CHECK_EQUAL(result.totals.kernels.calls, 20);
  CHECK_EQUAL(is_subscribed(), 1U);
  const Result next = record([](Recorder&) { CHECK(false); });
  CHECK(next.refusal.find("an earlier recording") != std::string::npos);
}

// The buffer with the kernels comes after the one with the canary.
void a_late_buffer_is_waited_for() {
  const Setting setting("STANDIN_LATE", "60");
  const Result result = record([](Recorder&) { launch_many(50, 1); });
  CHECK_EQUAL(result.totals.kernels.calls, 50);
  CHECK(result.figures.is_canary_seen);
  CHECK_EQUAL(result.figures.buffers.lent(), 0);
}

void a_buffer_that_is_never_returned_is_counted() {
  const Setting setting("STANDIN_KEEP", "1");
  for (int i = 0; i < 2; ++i) {  // each recording counts its own
    const Result result = record([](Recorder&) { launch_many(50, 1); });
    CHECK_EQUAL(result.totals.kernels.calls, 0);
    CHECK(result.figures.is_canary_seen);
    CHECK_EQUAL(result.figures.buffers.lent(), 1);
  }
  const Result result = record([](Recorder&) { synchronize(1); });
  CHECK_EQUAL(result.figures.buffers.lent(), 0);
}

// Fields that CUPTI leaves as promised zeros must not have old values.
void buffers_are_zeroed_before_reuse() {
  const Setting setting("STANDIN_SCRIBBLE", "300000");
  for (int i = 0; i < 3; ++i) {
    const Result result = record([](Recorder&) { launch_many(20, 1); });
    const Result more = record([](Recorder&) { launch_many(600, 1); });
    CHECK_EQUAL(more.totals.kernels.calls, 600);
    CHECK_EQUAL(more.totals.kernels.ns, 600 * int64_t{kKernelNs});
    CHECK_EQUAL(more.figures.rows.dropped, 0);
    CHECK_EQUAL(more.figures.rows.malformed + more.figures.rows.unknown_kinds, 0);
    CHECK_EQUAL(more.figures.rows.unread_names, 0);
    CHECK_EQUAL(more.figures.rows.untimed, 0);
  }
}

}  // namespace

int main() {
  use_standin();
  a_refused_clock_ends_nothing();  // the first: later ones find our clock set
  a_clock_that_was_replaced_is_set_again();
  the_clock_is_reset_if_the_version_allows_it();
  times_of_the_default_clock_are_converted();
  times_of_an_unknown_clock_are_left_out();
  a_late_buffer_is_waited_for();
  a_buffer_that_is_never_returned_is_counted();
  buffers_are_zeroed_before_reuse();
  records_are_fetched_early_if_the_version_allows_it();
  work_that_never_ends_is_left_behind();
  return report();
}
