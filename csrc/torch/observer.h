// The operator observer: torch's RecordFunction callbacks, written down as records.
//
// Cost on the hit path: two clock reads, one hash of the inputs, one walk over the Python frames;
// no lock, no allocation, no GIL.
#pragma once

#include <ATen/record_function.h>

#include "core/recorder_port.h"
#include "torch/emitter.h"
#include "torch/operand_reuse.h"

namespace perfprobe {

// Whose operators are recorded.
enum class Threads { all, this_one };

// Around which operators the thread's CPU clock is read: about 440 ns a read, twice.
enum class CpuTime : uint8_t { off, outermost, all };

// Registers the callbacks. One recording at a time; throws std::runtime_error on a second.
// emitter: what sets operators as ranges, nullptr for none.
void start_observer(RecorderPort& port, CpuTime cpu_time, Threads threads,
                    Emitter* emitter = nullptr);
// From now on each operator's start, in ticks, is an id of this port; nullptr: no more. Until the
// observer stops.
void hand_on_ids(const ExternalIdPort* ids);
// Removes them; rows that end later are not recorded.
void stop_observer();
// Of the latest recording; nothing unless all operators had CPU time.
[[nodiscard]] OperandReuse::Rows operand_reuse();
// Whether the latest recording set operators as ranges, and more of them than can be distinguished.
[[nodiscard]] bool messages_full();

// Whether the operators of all threads are recorded just now.
[[nodiscard]] bool is_recording();
// Makes a RecordFunction that this observer alone sees: what the program's own profiler shows stays
// what it was. None where the program has switched observers off.
[[nodiscard]] at::StepCallbacks own_callbacks(at::RecordScope scope);

// Callbacks that do nothing: torch's own floor, for benchmarks.
void add_null_callbacks(bool needs_inputs);
void remove_null_callbacks();

}  // namespace perfprobe
