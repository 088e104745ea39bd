#include "python/profile_hook.h"

#include <pthread.h>

namespace perfprobe {
namespace {

thread_local constinit CountedThread* counted = nullptr;

// Lets another thread go on with the profiler of one that has ended.
struct Goodbye {
  CountedThread* thread = nullptr;
  ~Goodbye() {
    if (thread != nullptr)
      thread->over = true;
  }
};
thread_local Goodbye goodbye;

}  // namespace

CountedThread* this_thread() {
  return counted;
}

void set_this_thread(CountedThread* thread) {
  counted = thread;
  goodbye.thread = thread;
}

void stop_in_forked_children() {
  static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { CallProfile::forget_in_child(); });
  static_cast<void>(registered);
}

}  // namespace perfprobe
