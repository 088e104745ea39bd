// A thread of perfprobe's own. It blocks every signal, so that the program's handlers run on the
// program's own threads, and steps aside while the program forks.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <pthread.h>
#include <signal.h>
#include <sys/types.h>

namespace perfprobe {

class NativeThread {
 public:
  // `body` runs on the thread until `leaving()`; `wake` makes it look, whatever it waits for.
  NativeThread(std::function<void()> body, std::function<void()> wake);
  NativeThread(const NativeThread&) = delete;
  NativeThread& operator=(const NativeThread&) = delete;

  // 0, or the errno of a thread that is not to be had.
  int start();
  // Ends and starts the thread around a fork: the program must look as single-threaded as it is
  // (Python 3.12 warns of a fork with threads), and no lock be held by a thread the child does not
  // have. Forks of several threads overlap: the first one stops it, the last one starts it.
  void pause();
  void resume();
  // For good; false when it was called before.
  bool end();

  // Sends it a signal, which it takes by waiting for it; for `wake`.
  void signal(int number) { pthread_kill(thread_, number); }

  // The kernel's number of the thread, or of the last one around a fork.
  [[nodiscard]] int64_t os_thread() const { return id_; }
  [[nodiscard]] bool leaving() const { return leaving_; }

 private:
  static void* run(void* self);
  int create();
  void join();

  const std::function<void()> body_;
  const std::function<void()> wake_;
  std::mutex mutex_;  // starting and joining; `wake` may take locks of its own under it
  int pauses_ = 0;    // forks under way
  bool ended_ = false;
  bool runs_ = false;
  pthread_t thread_{};
  std::atomic<pid_t> id_{0};
  std::atomic<bool> leaving_{false};
};

}  // namespace perfprobe
