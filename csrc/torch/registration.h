// Where callbacks are registered with torch.
#pragma once

#include <ATen/record_function.h>

#include "torch/observer.h"

namespace perfprobe {

// The callbacks of one recording at a time. A forked child keeps those that its parent had
// registered: to take them off, or put others there, takes torch's locks, which a thread that the
// child does not have may have held.
class Registration {
 public:
  // needs_outputs: whether the callbacks are told what operators return.
  void put(at::RecordFunctionCallback made, Threads threads, bool needs_outputs);
  void remove();
  void keep_in_child() { is_inherited_ = handle_ != at::INVALID_CALLBACK_HANDLE; }

 private:
  at::CallbackHandle handle_ = at::INVALID_CALLBACK_HANDLE;
  Threads threads_ = Threads::all;
  bool needs_outputs_ = false;
  bool is_inherited_ = false;
};

}  // namespace perfprobe
