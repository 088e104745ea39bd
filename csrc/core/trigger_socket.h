// Where another process of the same user asks for steps to be recorded: a socket of a file system.
//
// A request is a line, `record 20`; the answer is a line: `ok 117 137`, the window of steps, or
// `refused` with a reason. Served by a thread of its own that needs no Python. A forked child does
// not have it. If the program closes the socket, another takes its place.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "core/descriptor.h"
#include "core/native_thread.h"
#include "core/recorder.h"
#include "core/step_log.h"

namespace perfprobe {

// Never destroyed: its thread may be on its way.
class TriggerSocket {
 public:
  TriggerSocket(Recorder& recorder, StepLog& log) : recorder_(recorder), log_(log) {}
  TriggerSocket(const TriggerSocket&) = delete;
  TriggerSocket& operator=(const TriggerSocket&) = delete;

  // path: in a folder that only this user can enter. 0, or the errno of what failed.
  int start(const std::string& path);
  void stop();
  // How often steps were asked for.
  [[nodiscard]] int64_t requests() const { return requests_; }
  // How often the program has closed the socket, and the errno if no other could take its place.
  [[nodiscard]] int64_t times_closed() const { return times_closed_; }
  [[nodiscard]] int error() const { return error_; }

 private:
  static void close_in_child();
  int open();
  [[nodiscard]] bool is_lost() const;
  bool open_again();
  void close();
  void serve();
  void wake();
  void answer(const Descriptor& peer);
  std::string reply_to(const Descriptor& peer, const std::string& request);

  Recorder& recorder_;
  StepLog& log_;
  std::string path_;
  std::mutex mutex_;  // guards the descriptors where the thread replaces them and `wake` uses one
  Descriptor listening_;
  Descriptor waker_;  // what is sent here ends the wait for `woken_`
  Descriptor woken_;
  std::atomic<int64_t> requests_{0};
  std::atomic<int64_t> times_closed_{0};
  std::atomic<int> error_{0};
  NativeThread thread_{[this] { serve(); }, [this] { wake(); }};
};

}  // namespace perfprobe
