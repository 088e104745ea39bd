#include "cpu/sampled_threads.h"

#include <algorithm>
#include <utility>

#include "core/thread_name.h"

namespace perfprobe {

SampledThread& SampledThreads::find(int64_t os_thread, int64_t cpu_ns) {
  SampledThread& thread = threads_[os_thread];
  const bool is_another = cpu_ns < thread.cpu_ns;  // the OS reused the number for a new thread
  if (is_another) {
    close(thread);
    thread = {};
  }
  if (thread.row == kNone)
    thread.row = thread_rows_.add(os_thread, [&] { return thread_name(os_thread); });
  return thread;
}

// The scheduler tells of a wait only when the thread runs again. The wait was right before that:
// what has no room there was in the sample before, in which the thread seemed to stand still.
int64_t SampledThreads::waited_ns(SampledThread& thread, int64_t os_thread, int64_t room_ns) {
  const bool was_open = thread.delay.is_open();
  if (!was_open && open_delays_ >= kMostDelays)
    return -1;
  const int64_t delay_ns = thread.delay.read_ns(os_thread);
  open_delays_ += thread.delay.is_open() && !was_open ? 1 : 0;
  const int64_t before_ns = std::exchange(thread.delay_ns, delay_ns);
  if (room_ns == -1 || before_ns < 0 || delay_ns < before_ns)
    return -1;
  const int64_t waited_ns = delay_ns - before_ns;
  if (!thread.is_open || thread.sample.wait_ns < 0)  // it was written already, or is not known
    return waited_ns;
  const int64_t own_ns = std::clamp<int64_t>(room_ns, 0, waited_ns);
  thread.sample.wait_ns += waited_ns - own_ns;
  return own_ns;
}

void SampledThreads::close(SampledThread& thread) {
  if (thread.is_open)
    rows_.add(thread.sample);
  thread.is_open = false;
}

void SampledThreads::close_old(uint64_t tick, int64_t start_ns) {
  constexpr size_t kMostKept = 4096;  // beyond this, ended threads are removed
  open_delays_ = 0;
  const bool is_crowded = threads_.size() > kMostKept;
  for (auto place = threads_.begin(); place != threads_.end();) {
    SampledThread& thread = place->second;
    const bool is_gone = thread.tick < tick;
    if (is_gone || thread.sample.start_ns < start_ns)
      close(thread);
    if (is_gone)
      thread.delay.close();
    open_delays_ += thread.delay.is_open() ? 1 : 0;
    place = is_gone && is_crowded ? threads_.erase(place) : std::next(place);
  }
}

}  // namespace perfprobe
