// A wait ends at its time, when it is woken, or when the rest of the process has used CPU time.
#include "core/cpu_wait.h"

#include <atomic>
#include <functional>
#include <signal.h>
#include <thread>

#include "check.h"
#include "core/clock.h"
#include "core/native_thread.h"

using perfprobe::CpuWait;
using perfprobe::monotonic_ns;
using perfprobe::NativeThread;

namespace {

constexpr int64_t kLongNs = 60'000'000'000;

void use_cpu(int64_t cpu_ns) {
  const int64_t end_ns = perfprobe::thread_cpu_ns() + cpu_ns;
  while (perfprobe::thread_cpu_ns() < end_ns) {
  }
}

// The result of `wait` on a thread of perfprobe, while this thread runs `meanwhile`.
bool waited(const std::function<bool(CpuWait&)>& wait, const std::function<void()>& meanwhile) {
  bool result = false;
  std::atomic<bool> has_ended = false;
  NativeThread* self = nullptr;
  NativeThread thread(
      [&] {
        CpuWait own;
        own.begin();
        result = wait(own);
        own.end();
        has_ended = true;
      },
      [&] { self->signal(CpuWait::signal()); });
  self = &thread;
  CHECK_EQUAL(thread.start(), 0);
  meanwhile();
  while (!has_ended)
    std::this_thread::yield();
  thread.end();
  return result;
}

void a_wait_ends_at_its_time() {
  const int64_t due_ns = monotonic_ns() + 20'000'000;
  CHECK(waited([=](CpuWait& wait) { return wait.wait_until(due_ns); }, [] {}));
  CHECK(monotonic_ns() >= due_ns);
}

// The process uses its allowance repeatedly. Without `watch` nothing happens.
void a_wait_ends_when_the_process_uses_cpu_time() {
  const auto watched = [](CpuWait& wait) {
    CHECK(wait.watch(5'000'000));
    return wait.wait_until(monotonic_ns() + kLongNs);
  };
  CHECK(!waited(watched, [] { use_cpu(50'000'000); }));
  const auto unwatched = [](CpuWait& wait) {
    CHECK(wait.watch(5'000'000));
    wait.unwatch();
    return wait.wait_until(monotonic_ns() + 100'000'000);
  };
  CHECK(waited(unwatched, [] { use_cpu(50'000'000); }));
}

void a_wait_ends_when_it_is_woken() {
  NativeThread* self = nullptr;
  CpuWait wait;
  NativeThread thread(
      [&] {
        while (!self->leaving())
          CHECK(!wait.wait_until(monotonic_ns() + kLongNs));
      },
      [&] { self->signal(CpuWait::signal()); });
  self = &thread;
  CHECK_EQUAL(thread.start(), 0);
  thread.pause();
  thread.resume();
  CHECK(thread.end());
}

// No other thread may get the signal: its default action would end the process.
void a_wait_interrupts_no_other_thread() {
  sigset_t pending;
  CHECK_EQUAL(sigpending(&pending), 0);
  CHECK_EQUAL(sigismember(&pending, CpuWait::signal()), 0);
}

}  // namespace

int main() {
  a_wait_ends_at_its_time();
  a_wait_ends_when_the_process_uses_cpu_time();
  a_wait_ends_when_it_is_woken();
  a_wait_interrupts_no_other_thread();
  return perfprobe::test::report();
}
