// Every errno with which a kernel refuses an event has a reason and a remedy. The sampler of
// instructions reduces its event until the kernel accepts it.
#include "cpu/perf/open_event.h"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>

#include "check.h"
#include "core/recorder.h"
#include "cpu/perf/instruction_samples.h"

using perfprobe::Descriptor;
using perfprobe::EventNeed;
using perfprobe::InstructionSamples;
using perfprobe::Refusal;
using perfprobe::refusal_of;
using perfprobe::RefusedEvent;

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Expected {
  int error;
  const char* reason;
  const char* remedy;
};

// The errors of perf_event_open(2), each with its reason and remedy.
void every_error_has_its_reason_and_remedy() {
  const std::vector<Expected> all{
      {ENOENT, "no such counter", "PMU"},
      {EOPNOTSUPP, "no such counter", "PMU"},
      {ENODEV, "no such counter", "PMU"},
      {EACCES, "kernel.perf_event_paranoid is 3", "sudo sysctl kernel.perf_event_paranoid=2"},
      {EPERM, "a sandbox refuses perf_event_open", "--cap-add PERFMON"},
      {EINVAL, "not known to this kernel", "newer kernel"},
      {E2BIG, "not known to this kernel", "newer kernel"},
      {EMFILE, "too many open files", "ulimit -n"},
      {ENFILE, "the machine has too many open files", "fs.file-max"},
      {ENOSYS, "no perf_event_open", "CONFIG_PERF_EVENTS"},
      {EBUSY, "another tool holds the counters", "kernel.nmi_watchdog=0"},
      {ENOSPC, "hardware breakpoints", "other profilers"},
      {ENOMEM, "no memory", "free memory"},
      {EIO, "Input/output error", "man 2 perf_event_open"},
  };
  for (const Expected& expected : all) {
    const Refusal refusal = refusal_of(expected.error, "cycles", EventNeed::user, 3);
    CHECK_EQUAL(refusal.reason.starts_with("cycles "), true);
    if (!has(refusal.reason, expected.reason))
      CHECK_EQUAL(refusal.reason, expected.reason);
    if (!has(refusal.remedy, expected.remedy))
      CHECK_EQUAL(refusal.remedy, expected.remedy);
  }
}

void the_remedy_is_the_level_that_the_event_needs() {
  const auto remedy = [](EventNeed need) {
    return refusal_of(EACCES, "x", need, 4).remedy.substr(0, 41);
  };
  CHECK_EQUAL(remedy(EventNeed::user), "sudo sysctl kernel.perf_event_paranoid=2,");
  CHECK_EQUAL(remedy(EventNeed::kernel), "sudo sysctl kernel.perf_event_paranoid=1,");
  CHECK_EQUAL(remedy(EventNeed::machine), "sudo sysctl kernel.perf_event_paranoid=0,");
  const Refusal unknown = refusal_of(EACCES, "x", EventNeed::user, perfprobe::kUnknownParanoid);
  CHECK(has(unknown.reason, "perf_event_paranoid is too high"));
}

// If the kernel refuses every event, starting fails with the reason for that error.
template <int kError>
Descriptor refuse(perf_event_attr*, pid_t, int, int, unsigned long) {
  errno = kError;
  return {};
}

template <int kError>
void is_refused(const std::string& reason) {
  std::string said;
  try {
    InstructionSamples::try_out(&refuse<kError>);
  } catch (const RefusedEvent& refused) {
    said = refused.refusal.reason;
  }
  if (!has(said, reason))
    CHECK_EQUAL(said, reason);
}

void the_first_event_says_why() {
  is_refused<EACCES>("cpu-clock is not permitted: kernel.perf_event_paranoid");
  is_refused<EPERM>("cpu-clock is not permitted: a sandbox");
  is_refused<ENOSYS>("cpu-clock is not available: this kernel has no perf_event_open");
  is_refused<ENOENT>("cpu-clock is not available");
  is_refused<EINVAL>("cpu-clock is not known");
  is_refused<EMFILE>("cpu-clock cannot be opened: this process has too many open files");
  is_refused<EBUSY>("cpu-clock is in use");
}

// As at perf_event_paranoid 2: only events without the kernel are allowed.
int opened_with_kernel = 0;
Descriptor user_only(perf_event_attr* event, pid_t, int, int, unsigned long) {
  if (event->exclude_kernel == 0) {
    ++opened_with_kernel;
    errno = EACCES;
    return {};
  }
  return Descriptor(::dup(0));
}

void time_in_the_kernel_is_left_out_where_it_is_not_permitted() {
  InstructionSamples::try_out(&user_only);
  CHECK_EQUAL(opened_with_kernel, 1);
}

// As Linux before 5.13, which does not know `inherit_thread`.
Descriptor old_kernel(perf_event_attr* event, pid_t, int, int, unsigned long) {
#ifdef PERF_ATTR_SIZE_VER7
  if (event->inherit_thread == 1) {
    errno = EINVAL;
    return {};
  }
#endif
  return Descriptor(event->inherit == 1 ? ::dup(0) : -1);
}

void an_old_kernel_is_asked_for_less() {
  InstructionSamples::try_out(&old_kernel);
}

}  // namespace

int main() {
  every_error_has_its_reason_and_remedy();
  the_remedy_is_the_level_that_the_event_needs();
  the_first_event_says_why();
  time_in_the_kernel_is_left_out_where_it_is_not_permitted();
  an_old_kernel_is_asked_for_less();
  return perfprobe::test::report();
}
