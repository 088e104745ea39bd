// The driver, runtime and device that the stand-in simulates.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sys/syscall.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <utility>

#include "standin.h"
#include "state.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using standin::Record;
using standin::State;
using standin::state;

constexpr uint32_t kDriverDomain = 1;
constexpr uint32_t kRuntimeDomain = 2;
constexpr uint32_t kStreamWait = 3;
constexpr uint32_t kContextWait = 4;

uint32_t thread_number() {
  return state().are_threads_known ? static_cast<uint32_t>(::syscall(SYS_gettid))
                                   : static_cast<uint32_t>(pthread_self());
}

// One call of the API. `act(correlation)` runs under the lock between the call's start and end, and
// returns the time until which the call waits.
template <class Act>
void call(uint32_t domain, uint32_t callback, Act act) {
  uint64_t start_ns = 0;
  uint64_t until_ns = 0;
  uint32_t correlation = 0;
  {
    const std::lock_guard lock(state().mutex);
    start_ns = state().now();
    correlation = ++state().correlation;
    until_ns = act(correlation);
  }
  while (true) {
    uint64_t now_ns = 0;
    {
      const std::lock_guard lock(state().mutex);
      now_ns = state().now();
    }
    if (now_ns >= until_ns)
      break;
    std::this_thread::sleep_for(std::chrono::nanoseconds(until_ns - now_ns));
  }
  const std::lock_guard lock(state().mutex);
  if (!state().is_traced(domain, callback))
    return;
  for (const auto& [kind, ids] : standin::external_ids()) {
    if (!ids.empty())
      state().add(standin::external_record(kind, ids.back(), correlation));
  }
  const uint32_t kind = domain == kDriverDomain ? standin::kDriver : standin::kRuntime;
  state().add(
      standin::api_record(kind, callback, {start_ns, state().now()}, thread_number(), correlation));
}

void launch(uint32_t domain, uint32_t callback, const char* name, uint64_t duration_ns,
            uint32_t stream) {
  call(domain, callback, [&](uint32_t correlation) {
    const standin::Times times = state().span(stream, duration_ns);
    state().add(standin::kernel_record(state().keep(name), times, {stream, correlation}, {}));
    return uint64_t{0};
  });
}

}  // namespace

EXPORT void standin_launch(const char* name, uint64_t duration_ns, uint32_t stream) {
  launch(kRuntimeDomain, 211, name, duration_ns, stream);
}

EXPORT void standin_launch_by_driver(const char* name, uint64_t duration_ns, uint32_t stream) {
  launch(kDriverDomain, 307, name, duration_ns, stream);
}

EXPORT void standin_launch_graph(const char* name, uint32_t count, uint64_t duration_ns,
                                 uint32_t stream) {
  call(kRuntimeDomain, 311, [&](uint32_t correlation) {
    const bool is_wrong = standin::spoils_graph_ids() && state().sessions > 1;
    if (const uint32_t before = std::exchange(state().graph_correlation, correlation); is_wrong)
      correlation = before;
    if (state().kinds.contains(standin::kGraph)) {
      state().add(standin::graph_record(state().span(stream, count * duration_ns),
                                        {stream, correlation}, 1));
      return uint64_t{0};
    }
    for (uint64_t node = 1; node <= count; ++node) {
      const standin::Times times = state().span(stream, duration_ns);
      state().add(
          standin::kernel_record(state().keep(name), times, {stream, correlation}, {1, node}));
    }
    return uint64_t{0};
  });
}

EXPORT void standin_copy(uint32_t copy_kind, uint32_t source, uint32_t destination,
                         uint32_t is_async, uint64_t bytes, uint64_t duration_ns, uint32_t stream) {
  call(kRuntimeDomain, is_async != 0 ? 41 : 31, [&](uint32_t correlation) {
    const standin::Times times = state().span(stream, duration_ns);
    state().add(standin::copy_record(copy_kind, source, destination, is_async != 0, bytes, times,
                                     {stream, correlation}));
    return is_async != 0 ? 0 : times.end_ns;
  });
}

EXPORT void standin_fill(uint64_t bytes, uint64_t duration_ns, uint32_t stream) {
  call(kRuntimeDomain, 51, [&](uint32_t correlation) {
    const standin::Times times = state().span(stream, duration_ns);
    state().add(standin::fill_record(bytes, times, {stream, correlation}));
    return uint64_t{0};
  });
}

EXPORT void standin_synchronize(uint32_t stream) {
  call(kRuntimeDomain, 131, [&](uint32_t correlation) {
    const uint64_t start_ns = state().now();
    const uint64_t end_ns = std::max(start_ns, state().stream_end(stream));
    state().add(standin::wait_record(kStreamWait, {start_ns, end_ns}, {stream, correlation}));
    return end_ns;
  });
}

EXPORT void standin_ask() {
  call(kRuntimeDomain, 17, [](uint32_t) { return uint64_t{0}; });
}

EXPORT void standin_take_over() {
  const std::lock_guard lock(state().mutex);
  state().on_request = [](uint8_t** buffer, size_t* bytes, size_t* most_records) {
    *bytes = size_t{1} << 20;
    *buffer = static_cast<uint8_t*>(std::calloc(1, *bytes));
    *most_records = 0;
  };
  state().on_complete = [](void*, uint32_t, uint8_t* buffer, size_t, size_t) { std::free(buffer); };
  state().kinds.clear();
}

EXPORT uint64_t standin_kinds() {
  const std::lock_guard lock(state().mutex);
  uint64_t bits = 0;
  for (const uint32_t kind : state().kinds)
    bits |= uint64_t{1} << kind;
  return bits;
}

EXPORT uint32_t standin_is_subscribed() {
  const std::lock_guard lock(state().mutex);
  return state().is_subscribed ? 1 : 0;
}

EXPORT uint32_t standin_is_traced(uint32_t domain, uint32_t callback) {
  const std::lock_guard lock(state().mutex);
  return state().is_traced(domain, callback) ? 1 : 0;
}

EXPORT uint32_t standin_has_default_clock() {
  const std::lock_guard lock(state().mutex);
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return state().now() / 1'000'000'000 + 1 >= static_cast<uint64_t>(time.tv_sec) ? 1 : 0;
}

EXPORT uint32_t standin_are_zeros_promised() {
  const std::lock_guard lock(state().mutex);
  return state().are_zeros_promised ? 1 : 0;
}

EXPORT int cuInit(unsigned /*flags*/) {
  return static_cast<int>(standin::failure("cuInit"));
}

EXPORT int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(standin::setting("STANDIN_DEVICES", 1));
  return 0;
}

EXPORT int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}

EXPORT int cuDeviceGetName(char* name, int bytes, int /*device*/) {
  std::strncpy(name, "Stand-in", static_cast<size_t>(bytes));
  return 0;
}

EXPORT int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* is_active) {
  *flags = 0;
  *is_active = (standin::setting("STANDIN_CONTEXTS", ~uint64_t{0}) >> device & 1) != 0 ? 1 : 0;
  return 0;
}

EXPORT int cuDeviceGetPCIBusId(char* id, int bytes, int device) {
  const char* buses = std::getenv("STANDIN_BUSES");
  unsigned long bus = static_cast<unsigned long>(device) + 1;
  for (int i = 0; buses != nullptr && i <= device; ++i) {
    char* end = nullptr;
    bus = std::strtoul(buses, &end, 10);
    buses = *end == ',' ? end + 1 : end;
  }
  std::snprintf(id, static_cast<size_t>(bytes), "0000:%02lx:00.0", bus);
  return 0;
}

EXPORT int cuDeviceGetAttribute(int* value, int attribute, int /*device*/) {
  constexpr int kClockKhz = 13;
  *value = attribute == 75 ? 9 : 0;  // compute capability 9.0
  if (attribute == kClockKhz)
    *value = 1'980'000;
  return attribute == 75 || attribute == 76 || attribute == kClockKhz ? 0 : 1;
}

EXPORT int cuDevicePrimaryCtxRetain(void** context, int /*device*/) {
  *context = &state();
  return 0;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int /*device*/) {
  return 0;
}

EXPORT int cuCtxSetCurrent(void* /*context*/) {
  return 0;
}

// A call as others: whoever makes it must see that it is not recorded as the program's.
EXPORT int cuCtxSynchronize() {
  call(kDriverDomain, 17, [](uint32_t correlation) {
    const uint64_t start_ns = state().now();
    const uint64_t end_ns = std::max(start_ns, state().last_end());
    state().add(standin::wait_record(kContextWait, {start_ns, end_ns}, {0, correlation}));
    return end_ns;
  });
  return 0;
}

EXPORT int cuDriverGetVersion(int* version) {
  *version = 13000;
  call(kDriverDomain, 2, [](uint32_t) { return uint64_t{0}; });
  return 0;
}
