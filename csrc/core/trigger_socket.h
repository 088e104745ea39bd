// Where another process of the same user asks for steps to be recorded: a socket of a file system.
//
// A request is a line, `record 20`; the answer is a line: `ok 117 137`, the window of steps, or
// `refused` with a reason. Served by a thread of its own that needs no Python. A forked child does
// not have it.
#pragma once

#include <string>

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

 private:
  void serve();
  void wake() const;
  void answer(int peer);
  std::string reply_to(int peer, const std::string& request);

  Recorder& recorder_;
  StepLog& log_;
  std::string path_;
  int listening_ = -1;
  int waker_ = -1;
  NativeThread thread_{[this] { serve(); }, [this] { wake(); }};
};

}  // namespace perfprobe
