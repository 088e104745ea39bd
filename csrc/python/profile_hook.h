// The hook between the interpreter and _lsprof's profilers: the interpreter's own for C profilers
// up to Python 3.11, sys.monitoring from 3.12 on.
#pragma once

#include <Python.h>

#include "python/call_profile.h"

namespace perfprobe {

// The thread of this interpreter that calls, as it is counted; nullptr when it is not.
CountedThread* this_thread();
void set_this_thread(CountedThread* thread);
void stop_in_forked_children();
bool is_main_thread();  // where pending calls run
// What stands behind a C function; nullptr for all other objects.
const PyMethodDef* definition_of(PyObject* function);
// Of `sys.setprofile`, as the interpreter defines it: first asked for before the program could put
// another there.
const PyMethodDef* setprofile_definition();
// The program calls `sys.setprofile(f)` under a hook of ours: the interpreter would tell f that it
// returned, which it does not without one. Holds all events until the call is over.
void hold_tracing();

// Whether this thread is about to tell its profile function of a call whose frame is there already:
// Python 3.11 looks for pending calls before it does. A function set now would be told of a frame
// that it has found.
bool enters_again();

// While it lives no profile and no trace function is told anything on this thread.
class HeldTracing {
 public:
  HeldTracing();
  ~HeldTracing();
  HeldTracing(const HeldTracing&) = delete;
  HeldTracing& operator=(const HeldTracing&) = delete;

 private:
  PyThreadState* state_;
};

// Before the first thread, with the first thread attached, and after the last. False with a Python
// exception set.
bool open_hook();
bool start_events();
void close_hook();
// Has the calling thread's calls counted by `thread.profiler`. False with a Python exception set.
bool attach(CountedThread& thread);
// The functions that still run have their time up to now. Whatever thread calls, its profile hook,
// if that is ours, is gone afterwards.
void finish(CountedThread& thread);
// Whether the program has a profiler or a tracer running, so that ours cannot begin.
bool is_occupied();
// For `threading.setprofile`: joins the thread that calls it for the first time. Borrowed.
PyObject* thread_starter();

}  // namespace perfprobe
