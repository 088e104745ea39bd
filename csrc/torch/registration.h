// Registers callbacks with torch.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <unordered_set>

#include <ATen/record_function.h>

#include "torch/observer.h"

namespace perfprobe {

using Scopes = std::unordered_set<at::RecordScope, std::hash<at::RecordScope>>;

// What the observer records.
inline const Scopes& observed_scopes() {
  static const Scopes scopes = {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                                at::RecordScope::USER_SCOPE};
  return scopes;
}

// The callbacks of one recording at a time. A forked child keeps the callbacks that its parent had
// registered: removing or replacing them takes torch's lock, which another thread of the parent
// may have held at the fork. When they are first to be removed there, a thread of its own asks for
// the lock, as it may wait for ever. Once it got it, it removes them.
class Registration {
 public:
  // needs_outputs: whether the callbacks get what operators return.
  void put(at::RecordFunctionCallback made, const Scopes& scopes, Threads threads,
           bool needs_outputs);
  void remove();
  void keep_in_child();

 private:
  // Whose the callbacks are: ours, the parent's, the parent's that the thread is to remove or is
  // removing now.
  enum class Held : uint8_t { own, inherited, unwanted, going };

  void ask_for_lock();
  void wait_for_lock();

  at::CallbackHandle handle_ = at::INVALID_CALLBACK_HANDLE;
  Threads threads_ = Threads::all;
  bool needs_outputs_ = false;
  std::atomic<Held> held_{Held::own};
  bool has_asked_ = false;
};

}  // namespace perfprobe
