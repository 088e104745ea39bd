// Sets operators as ranges for another tool while they run.
//
// Cost if the message is known, in addition to the port's: one hash, one look-up, one word written
// for forward calls; no lock, no allocation, no GIL. A message is made on first sight.
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

// The state of one port, shared by all threads.
struct Emitter {
  explicit Emitter(const EmissionPort& to) : port(to) {}

  const EmissionPort& port;
  RangeMessages messages{port};
  ForwardLines forward;
  TrainingRanges training{port, messages};
  UserLines lines;
};

// Returns the emitter of a port. It is never destroyed, as threads may still end ranges. Needs the
// GIL.
Emitter& emitter_of(const EmissionPort& port);
// Called in a forked child: another thread may have held their locks.
void forget_emitters();

}  // namespace perfprobe
