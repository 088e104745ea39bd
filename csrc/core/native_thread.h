// A thread of perfprobe. It blocks every signal, so that the program's handlers run on the
// program's threads, and it is stopped while the program forks.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <pthread.h>
#include <semaphore>
#include <signal.h>
#include <stdexcept>
#include <string>
#include <sys/types.h>

namespace perfprobe {

inline constexpr const char* kOwnThreadName = "perfprobe-own";

// A thread of ours could not be started; says which, and what ran out.
class ThreadRefused : public std::runtime_error {
 public:
  // error: from `NativeThread::start`.
  ThreadRefused(const std::string& thread, int number);
  const int error;
};

class NativeThread {
 public:
  // `body` runs on the thread until `leaving()`; `wake` ends whatever wait it is in.
  NativeThread(std::function<void()> body, std::function<void()> wake);
  NativeThread(const NativeThread&) = delete;
  NativeThread& operator=(const NativeThread&) = delete;

  // Returns 0, or the errno if no thread can be started: ENOMEM if there is no room for its stack
  // or its thread-local data, EAGAIN if no more threads are allowed.
  int start();
  // Stop the thread before a fork and start it again after. The process must look single-threaded
  // (Python 3.12 warns of a fork with threads), and no lock may be held by a thread that the child
  // does not have. If forks of several threads overlap, the first stops it and the last starts it.
  void pause();
  void resume();
  // Ends the thread for good. Returns false if it was ended before.
  bool end();

  // Sends the thread a signal that it waits for; used by `wake`.
  void signal(int number) { pthread_kill(thread_, number); }

  // The kernel's id of the thread, also of the last one while it is stopped for a fork.
  [[nodiscard]] int64_t os_thread() const { return id_; }
  [[nodiscard]] bool leaving() const { return leaving_; }

 private:
  static void* run(void* self);
  int create();
  void join();

  const std::function<void()> body_;
  const std::function<void()> wake_;
  std::mutex mutex_;  // guards starting and joining; `wake` may take other locks while it is held
  int pauses_ = 0;    // forks in progress
  bool ended_ = false;
  bool runs_ = false;
  pthread_t thread_{};
  std::atomic<pid_t> id_{0};
  std::atomic<bool> leaving_{false};
  bool has_room_ = false;                // of the thread that was created last; for
  std::binary_semaphore has_looked_{0};  // whoever created it, once this is released
};

}  // namespace perfprobe
