// Proves that the observer reads this torch rightly, and measures what one recorded operator costs.
#pragma once

namespace perfprobe {

// Runs one operator through the observer and looks at its record; throws std::runtime_error saying
// what came back wrong (a module built for another torch reads garbage without any other sign).
void run_self_test();

// Nanoseconds that recording adds to one operator on this machine, measured now (about 3 ms): the
// lowest of several rounds, each with and without the callbacks. Needs the GIL.
double measure_event_cost_ns();

// Nanoseconds that a reading of the thread's CPU clock takes: the lowest of several rounds (2 ms).
double measure_cpu_read_ns();

// Nanoseconds that the record of an event shows in which nothing happens: the median of many, taken
// now (under 1 ms). Shorter than that nothing can be told apart. Needs the GIL.
double measure_empty_ns();

}  // namespace perfprobe
