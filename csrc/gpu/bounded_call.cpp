#include "gpu/bounded_call.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <signal.h>
#include <utility>

#include "core/native_thread.h"

namespace perfprobe {
namespace {

// Shared with the thread, which may outlive the caller.
struct Call {
  std::function<void()> function;
  std::mutex mutex;
  std::condition_variable ended;
  bool has_ended = false;
};

void* run(void* argument) {
  const std::unique_ptr<std::shared_ptr<Call>> owned(static_cast<std::shared_ptr<Call>*>(argument));
  Call& call = **owned;
  call.function();
  const std::lock_guard lock(call.mutex);
  call.has_ended = true;
  call.ended.notify_all();
  return nullptr;
}

// The thread blocks every signal, so that the program's handlers run on the program's threads.
bool start(const std::shared_ptr<Call>& call) {
  auto owned = std::make_unique<std::shared_ptr<Call>>(call);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const int error = pthread_create(&thread, nullptr, run, owned.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0)
    return false;
  static_cast<void>(owned.release());
  pthread_setname_np(thread, kOwnThreadName);
  pthread_detach(thread);
  return true;
}

}  // namespace

bool ends_within(std::function<void()> call, int64_t limit_ns) {
  const auto shared = std::make_shared<Call>();
  shared->function = std::move(call);
  if (!start(shared))
    return false;
  std::unique_lock lock(shared->mutex);
  return shared->ended.wait_for(lock, std::chrono::nanoseconds(limit_ns),
                                [&] { return shared->has_ended; });
}

}  // namespace perfprobe
