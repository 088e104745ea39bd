// Through this the observer reports what recording operators cost, if that cost is limited.
//
// Crosses from one extension module to another: a vtable and PODs only, as RecorderPort.
#pragma once

#include <cstdint>

namespace perfprobe {

// Name of the capsule that carries a BudgetPort*; raise the number with any change.
inline constexpr const char* kBudgetCapsule = "perfprobe.budget.1";

class BudgetPort {
 public:
  // `cost_ns`: CPU time that recording the latest operators took. On a thread that records; may
  // call the switch.
  virtual void spend(int64_t cost_ns) = 0;
  // What records operators, or stops. nullptr: no more. Called from any thread, one call at a time.
  virtual void set_switch(void (*turn)(bool on)) = 0;

 protected:
  ~BudgetPort() = default;
};

}  // namespace perfprobe
