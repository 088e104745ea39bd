// The exit of forked children after Kineto has run in their parent.
#pragma once

namespace perfprobe {

// From now on, children that this process forks end without the destructors of libraries when they
// exit.
//
// Kineto has a thread that waits for new settings (ConfigLoader). A forked child does not have it,
// but at exit the destructor of its condition variable waits there until that thread has left: for
// ever. This happens with torch.profiler too, but the program did not ask for it. Call it after
// Kineto has started: handlers of exit run in reverse order. What was registered later still runs,
// and so does all that Python ends.
void end_forked_children_early();

}  // namespace perfprobe
