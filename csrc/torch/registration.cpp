#include "torch/registration.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <utility>

#include "core/native_thread.h"

namespace perfprobe {
namespace {

Registration null_callbacks;

std::unique_ptr<at::ObserverContext> null_start(const at::RecordFunction& /*function*/) {
  return nullptr;
}
void null_end(const at::RecordFunction& /*function*/, at::ObserverContext* /*context*/) {}

}  // namespace

void Registration::put(at::RecordFunctionCallback made, const Scopes& scopes, Threads threads,
                       bool needs_outputs) {
  Held held = Held::unwanted;
  held_.compare_exchange_strong(held, Held::inherited);  // wanted again
  while (held_ == Held::going)
    sched_yield();
  if (held_ == Held::inherited && threads_ == threads && needs_outputs_ == needs_outputs)
    return;
  held_ = Held::own;
  remove();
  made.scopes(scopes);
  made.needsOutputs(needs_outputs);
  handle_ =
      threads == Threads::all ? at::addGlobalCallback(made) : at::addThreadLocalCallback(made);
  threads_ = threads;
  needs_outputs_ = needs_outputs;
}

void Registration::remove() {
  Held held = Held::inherited;
  if (held_.compare_exchange_strong(held, Held::unwanted))
    ask_for_lock();
  if (held != Held::own || handle_ == at::INVALID_CALLBACK_HANDLE)
    return;
  at::removeCallback(handle_);
  handle_ = at::INVALID_CALLBACK_HANDLE;
}

void Registration::keep_in_child() {
  held_ = handle_ == at::INVALID_CALLBACK_HANDLE ? Held::own : Held::inherited;
  has_asked_ = false;
}

void Registration::wait_for_lock() {
  static_cast<void>(at::hasGlobalCallbacks());  // takes the lock and changes nothing
  Held held = held_;
  while (!held_.compare_exchange_weak(held, held == Held::unwanted ? Held::going : Held::own)) {
  }
  if (held != Held::unwanted)
    return;
  at::removeCallback(handle_);
  handle_ = at::INVALID_CALLBACK_HANDLE;
  held_ = Held::own;
}

void Registration::ask_for_lock() {
  if (std::exchange(has_asked_, true))
    return;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const auto wait = [](void* self) -> void* {
    static_cast<Registration*>(self)->wait_for_lock();
    return nullptr;
  };
  if (pthread_create(&thread, nullptr, wait, this) == 0) {
    pthread_setname_np(thread, kOwnThreadName);
    pthread_detach(thread);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void add_null_callbacks(bool needs_inputs) {
  null_callbacks.remove();
  null_callbacks.put(at::RecordFunctionCallback(null_start, null_end).needsInputs(needs_inputs),
                     observed_scopes(), Threads::all, /*needs_outputs=*/false);
}

void remove_null_callbacks() {
  null_callbacks.remove();
}

}  // namespace perfprobe
