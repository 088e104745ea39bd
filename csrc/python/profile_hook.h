// The hook between the interpreter and the profilers of _lsprof: the interpreter's C profile
// function up to Python 3.11, sys.monitoring from 3.12 on.
#pragma once

#include <Python.h>

#include "python/call_profile.h"

namespace perfprobe {

// The counted state of the calling thread; nullptr if it is not counted.
CountedThread* this_thread();
void set_this_thread(CountedThread* thread);
void stop_in_forked_children();
// Returns the definition behind a C function; nullptr for all other objects.
const PyMethodDef* definition_of(PyObject* function);
// The interpreter's definition of `sys.setprofile`. It is read before the program can replace it.
const PyMethodDef* setprofile_definition();
// The program calls `sys.setprofile(f)` while our hook is active. The interpreter would report the
// return of this call to f, which it does not do without a hook. So this holds all events until the
// call has returned.
void hold_tracing();

// Whether this thread is about to report a call whose frame already exists: Python 3.11 runs
// pending calls before that. A profile function set now would be told of a frame that it already
// found.
bool enters_again();

// While this object lives, no profile or trace function gets events on this thread.
class HeldTracing {
 public:
  HeldTracing();
  ~HeldTracing();
  HeldTracing(const HeldTracing&) = delete;
  HeldTracing& operator=(const HeldTracing&) = delete;

 private:
  PyThreadState* state_;
};

// Reports a call of a Python function and one of a native function, both over at once, to this
// thread's C profile function, also while tracing is held.
void report_calls();

// `open_hook` runs before the first thread is attached, `close_hook` after the last. Returns false
// with a Python exception set.
bool open_hook();
bool start_events();
void close_hook();
// Counts the calling thread's calls with `thread.profiler`. Returns false with a Python exception
// set.
bool attach(CountedThread& thread);
// Functions that still run are counted up to now. Removes the profile hook of the calling thread,
// whichever thread that is, if the hook is ours.
void finish(CountedThread& thread);
// Whether the program runs a profiler or a tracer, so that ours cannot start.
bool is_occupied();
// A callable for `threading.setprofile`: each thread that calls it for the first time joins.
// Borrowed.
PyObject* thread_starter();

}  // namespace perfprobe
