#include "cpu/perf/counter_events.h"

#include <cerrno>

#include "core/kernel_files.h"

namespace perfprobe {
namespace {

constexpr uint64_t kLoadMissesOfL1 = PERF_COUNT_HW_CACHE_L1D | PERF_COUNT_HW_CACHE_OP_READ << 8 |
                                     PERF_COUNT_HW_CACHE_RESULT_MISS << 16;
// CYCLE_ACTIVITY.STALLS_TOTAL: event 0xA3, umask 4, cmask 4. Intel's processors since Skylake have
// no generic events for stalls.
constexpr uint64_t kIntelStalls = 0x040004a3;

bool is_intel() {
  KernelFile file;
  return file.read("/proc/cpuinfo").find("GenuineIntel") != std::string_view::npos;
}

AllowedEvent tried(const CounterEvent& counter, OpenEvent open) {
  AllowedEvent found;
  found.event = plain_event(counter.type, counter.config);
  for (;;) {
    if (open(&found.event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC).is_open()) {
      found.is_allowed = true;
      return found;
    }
    const bool is_level = errno == EACCES || errno == EPERM;
    if (!is_level || found.event.exclude_kernel == 1) {
      found.refusal = refusal_of(errno, counter.name, EventNeed::user, paranoid_level());
      return found;
    }
    found.event.exclude_kernel = 1;
    found.is_user_only = true;
  }
}

// Switches happen in the kernel. If the kernel is not counted, the event opens but stays 0.
bool is_always_zero(const CounterEvent& counter, const AllowedEvent& found) {
  const bool is_switch = counter.config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
                         counter.config == PERF_COUNT_SW_CPU_MIGRATIONS;
  return found.is_allowed && found.is_user_only && counter.type == PERF_TYPE_SOFTWARE && is_switch;
}

}  // namespace

const std::array<CounterEvent, kCounterEvents>& counter_events() {
  using Group = CounterGroup;
  static const std::array<CounterEvent, kCounterEvents> events{{
      {"page-faults", Group::software, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
      {"context-switches", Group::software, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
      {"cpu-migrations", Group::software, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
      {"cycles", Group::core, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
      {"instructions", Group::core, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
      {"branches", Group::core, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
      {"branch-misses", Group::core, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
      {"cache-references", Group::cache, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
      {"cache-misses", Group::cache, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
      {"L1-dcache-load-misses", Group::cache, PERF_TYPE_HW_CACHE, kLoadMissesOfL1},
      {"stalled-cycles-frontend", Group::stalls, PERF_TYPE_HARDWARE,
       PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
      {"stalled-cycles-backend", Group::stalls, PERF_TYPE_HARDWARE,
       PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
  }};
  return events;
}

std::array<AllowedEvent, kCounterEvents> allowed_events(OpenEvent open) {
  std::array<AllowedEvent, kCounterEvents> found;
  for (size_t i = 0; i < kCounterEvents; ++i) {
    const CounterEvent& counter = counter_events()[i];
    found[i] = tried(counter, open);
    if (is_always_zero(counter, found[i])) {
      found[i].is_allowed = false;
      found[i].refusal = refusal_of(EACCES, counter.name, EventNeed::kernel, paranoid_level());
    }
    if (!found[i].is_allowed && counter.config == PERF_COUNT_HW_STALLED_CYCLES_BACKEND &&
        counter.type == PERF_TYPE_HARDWARE && is_intel()) {
      const AllowedEvent raw =
          tried({counter.name, counter.group, PERF_TYPE_RAW, kIntelStalls}, open);
      if (raw.is_allowed)
        found[i] = raw;
    }
  }
  return found;
}

}  // namespace perfprobe
