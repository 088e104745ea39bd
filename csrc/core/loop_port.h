// What the watch of loops (csrc/torch/loop_watch.h) tells of a program's loop while it runs.
//
// Crosses from one extension module to another: a vtable and PODs only, as RecorderPort.
#pragma once

#include <cstdint>

namespace perfprobe {

// Name of the capsule that carries a LoopPort*; raise the number with any change.
inline constexpr const char* kLoopCapsule = "perfprobe.loop.2";

enum class LoopEvent : int32_t {
  next_begin,    // the loader is asked for a batch
  next_end,      // it has given one
  update_begin,  // an optimizer's step
  update_end,
  profiler_begin,  // a step of torch.profiler
  profiler_end,
  mark,         // perfprobe.step(): a step ends
  block_begin,  // `with perfprobe.step():`
  block_end,
};

// Of a `next_end`, in the place of a number of samples.
constexpr int64_t kNotKnown = -1;
constexpr int64_t kNoBatch = -2;  // the loader has no more

struct LoopMoment {
  LoopEvent event;
  bool has_optimizer;  // of a next_begin: whether the program has made one
  int64_t time_ns;
  int64_t os_thread;
  uint64_t site;    // the same for the same Python stack
  int64_t samples;  // of a next_end
};

class LoopPort {
 public:
  virtual void see(const LoopMoment& moment) = 0;
  // turn: what records operators, or stops: called by `see` on the loop's thread where that
  // changes, and at once. spent_ns: what recording them has taken so far. nullptr: no more.
  virtual void set_switch(void (*turn)(bool on), int64_t (*spent_ns)()) = 0;

 protected:
  ~LoopPort() = default;
};

}  // namespace perfprobe
