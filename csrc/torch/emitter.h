// Operators as ranges for another tool, while they run.
//
// Cost on the hit path, beyond the port's own: one hash, one look-up, one word written for forward
// calls; no lock, no allocation, no GIL. A message is put together on its first sight.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/emission_port.h"
#include "torch/forward_lines.h"
#include "torch/range_messages.h"
#include "torch/training_ranges.h"
#include "torch/user_lines.h"

namespace perfprobe {

// All that is known of one port, whatever the thread.
struct Emitter {
  explicit Emitter(const EmissionPort& to) : port(to) {}

  const EmissionPort& port;
  RangeMessages messages{port};
  ForwardLines forward;
  TrainingRanges training{port, messages};
  UserLines lines;
};

// The emitter of a port, never destroyed: threads may still end ranges. Under the GIL.
Emitter& emitter_of(const EmissionPort& port);
// In a forked child: another thread may have held their locks.
void forget_emitters();

}  // namespace perfprobe
