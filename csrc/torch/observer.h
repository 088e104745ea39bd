// The operator observer: torch's RecordFunction callbacks, which write records.
//
// Cost if everything is known: two clock reads, one hash of the inputs, one walk over the Python
// frames; no lock, no allocation, no GIL.
#pragma once

#include <ATen/record_function.h>

#include "core/budget_port.h"
#include "core/recorder_port.h"
#include "torch/emitter.h"
#include "torch/operand_reuse.h"
#include "torch/thread_state.h"

namespace perfprobe {

// The threads whose operators are recorded.
enum class Threads { all, this_one };

// The operators for which the thread's CPU clock is read, twice, at about 440 ns a read.
enum class CpuTime : uint8_t { off, outermost, all };

// Registers the callbacks. Only one recording at a time: throws std::runtime_error on a second.
// emitter: sets operators as ranges; nullptr for none. budget: limits what recording costs by
// `switch_observer`; nullptr for no limit.
void start_observer(RecorderPort& port, CpuTime cpu_time, Threads threads,
                    Emitter* emitter = nullptr, BudgetPort* budget = nullptr);
// From now on, and until the observer stops, each operator's start in ticks is pushed to this port
// as an id. nullptr: no ids any more.
void hand_on_ids(const ExternalIdPort* ids);
// Takes the callbacks off for a while, and puts them back. Operators that are open then are
// recorded when they end. Called before the observer starts, it says how that starts.
void switch_observer(bool on);
[[nodiscard]] bool is_switched_on();
// The range at whose beginning it was switched belongs to the new side of the switch: `adopt`
// records a range that the callbacks missed, until `end_adopted`; `drop_open` records it no more.
void adopt(const at::RecordFunction& function);
void end_adopted(const at::RecordFunction& function);
void drop_open(const at::RecordFunction& function);
// Removes the callbacks. Operators that end later are not recorded.
void stop_observer();
// In a forked child that records nothing: torch no longer calls the observer.
void let_go_in_child();
// Of the latest recording. Empty unless all operators had CPU time.
[[nodiscard]] OperandReuse::Rows operand_reuse();
// Whether the latest recording set operators as ranges and had too many different messages.
[[nodiscard]] bool messages_full();

// Whether the operators of all threads are recorded at this moment.
[[nodiscard]] bool is_recording();
// Returns this thread's state; nullptr if no recording runs. Not nullptr while the observer is only
// switched off. Throws std::bad_alloc.
[[nodiscard]] ThreadState* recording_thread();
// Counts a row that was lost because memory ran out.
void count_dropped_row();
// Makes a RecordFunction that only this observer sees, so that it does not show in the program's
// own profiler. None if the program has disabled observers.
[[nodiscard]] at::StepCallbacks own_callbacks(at::RecordScope scope);

// Registers callbacks that do nothing, for benchmarks of torch's own cost.
void add_null_callbacks(bool needs_inputs);
void remove_null_callbacks();

}  // namespace perfprobe
