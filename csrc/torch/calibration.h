// Checks that the observer reads this torch correctly, and measures what recording an operator
// costs.
#pragma once

namespace perfprobe {

// Runs one operator through the observer and checks its record. Throws std::runtime_error with the
// wrong value: a module built for another torch reads garbage without any other sign.
void run_self_test();

// Returns the nanoseconds that recording adds to one operator on this machine, measured now (about
// 3 ms): the minimum of several rounds with and without the callbacks. cpu_timed: for recordings
// that read the CPU clock and page faults of every operator (10 ms). Needs the GIL.
double measure_event_cost_ns(bool cpu_timed);

// Returns the nanoseconds that a read of the thread's CPU clock takes: the minimum of several
// rounds (2 ms).
double measure_cpu_read_ns();

// Returns the recorded duration of an event in which nothing happens, in nanoseconds: the median of
// many, measured now (under 1 ms). Shorter durations cannot be distinguished. Needs the GIL.
double measure_empty_ns();

// The same for CPU time, if that of every operator is read: the part of the recording's cost
// between an operator's own two readings. Needs the GIL.
double measure_empty_cpu_ns();

}  // namespace perfprobe
