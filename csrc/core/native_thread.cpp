#include "core/native_thread.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace perfprobe {
namespace {

// pthread_create returns EAGAIN for both. Its default size is the one of the stack.
bool has_room_for_stack() {
  pthread_attr_t attributes;
  size_t bytes = 0;
  if (pthread_getattr_default_np(&attributes) != 0)
    return true;
  pthread_attr_getstacksize(&attributes, &bytes);
  pthread_attr_destroy(&attributes);
  void* memory = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  ::munmap(memory, bytes);
  return true;
}

// The C library ends the process if a thread's first use of thread-local data finds no memory, and
// throwing an exception is such a use. So it is used here, if there is memory. (What is volatile
// the compiler does not leave out.)
bool has_room_for_exceptions() {
  constexpr size_t kMoreThanNeeded = 65'536;
  void* const volatile memory = std::malloc(kMoreThanNeeded);
  if (memory == nullptr)
    return false;
  std::free(memory);
  [[maybe_unused]] const volatile int used = std::uncaught_exceptions();
  return true;
}

std::string reason_of(int error) {
  if (error == ENOMEM)
    return "out of address space";
  return error == EAGAIN ? "no more threads are allowed" : std::strerror(error);
}

}  // namespace

ThreadRefused::ThreadRefused(const std::string& thread, int number)
    : std::runtime_error(thread + " could not be started: " + reason_of(number)), error(number) {}

NativeThread::NativeThread(std::function<void()> body, std::function<void()> wake)
    : body_(std::move(body)), wake_(std::move(wake)) {}

int NativeThread::start() {
  const std::lock_guard lock(mutex_);
  return create();
}

void NativeThread::pause() {
  const std::lock_guard lock(mutex_);
  ++pauses_;
  join();
}

void NativeThread::resume() {
  const std::lock_guard lock(mutex_);
  if (pauses_ == 0 || --pauses_ > 0 || ended_)
    return;
  static_cast<void>(create());
}

bool NativeThread::end() {
  const std::lock_guard lock(mutex_);
  if (ended_)
    return false;
  ended_ = true;
  join();
  return true;
}

int NativeThread::create() {
  leaving_ = false;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&thread_, nullptr, run, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0)
    return error == EAGAIN && !has_room_for_stack() ? ENOMEM : error;
  pthread_setname_np(thread_, kOwnThreadName);  // instead of the name inherited from the program
  has_looked_.acquire();
  runs_ = has_room_;
  if (!runs_)
    pthread_join(thread_, nullptr);
  return runs_ ? 0 : ENOMEM;
}

void* NativeThread::run(void* self) {
  auto* thread = static_cast<NativeThread*>(self);
  thread->id_ = static_cast<pid_t>(::syscall(SYS_gettid));
  const bool has_room = has_room_for_exceptions();
  thread->has_room_ = has_room;
  thread->has_looked_.release();
  if (has_room)
    thread->body_();
  return nullptr;
}

void NativeThread::join() {
  if (!runs_)
    return;
  leaving_ = true;
  wake_();
  pthread_join(thread_, nullptr);
  runs_ = false;
  // The kernel lists an ended thread a moment longer, and Python counts listed threads at a fork.
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries && ::syscall(SYS_tgkill, ::getpid(), id_.load(), 0) == 0; ++i)
    ::usleep(10);
}

}  // namespace perfprobe
