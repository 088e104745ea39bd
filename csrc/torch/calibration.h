// Proves that the observer reads this torch rightly, and measures what one recorded operator costs.
#pragma once

namespace perfprobe {

// Runs one operator through the observer and looks at its record; throws std::runtime_error saying
// what came back wrong (a module built for another torch reads garbage without any other sign).
void run_self_test();

// Nanoseconds that recording adds to one operator on this machine, measured now (about 3 ms): the
// lowest of several rounds, each with and without the callbacks. cpu_timed: as it is where every
// operator's CPU clock is read and its page faults are counted (10 ms). Needs the GIL.
double measure_event_cost_ns(bool cpu_timed);

// Nanoseconds that a reading of the thread's CPU clock takes: the lowest of several rounds (2 ms).
double measure_cpu_read_ns();

// Nanoseconds that the record of an event shows in which nothing happens: the median of many, taken
// now (under 1 ms). Shorter than that nothing can be distinguished. Needs the GIL.
double measure_empty_ns();

// The same of its CPU time, where that of every operator is read: what of the recording's cost lies
// between an operator's own two readings. Needs the GIL.
double measure_empty_cpu_ns();

}  // namespace perfprobe
