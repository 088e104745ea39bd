#include "cpu/sampled_threads.h"

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

void SampledThreads::close(SampledThread& thread) {
  if (thread.is_open)
    rows_.add(thread.sample);
  thread.is_open = false;
}

void SampledThreads::close_old(uint64_t tick, int64_t start_ns) {
  constexpr size_t kMostKept = 4096;  // beyond this, ended threads are removed
  const bool is_crowded = threads_.size() > kMostKept;
  for (auto place = threads_.begin(); place != threads_.end();) {
    SampledThread& thread = place->second;
    const bool is_gone = thread.tick < tick;
    if (is_gone || thread.sample.start_ns < start_ns)
      close(thread);
    place = is_gone && is_crowded ? threads_.erase(place) : std::next(place);
  }
}

}  // namespace perfprobe
