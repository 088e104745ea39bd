// The hook up to Python 3.11: PyEval_SetProfile installs it on each thread. It passes events on to
// _lsprof's own hook and profiler.
#include "python/profile_hook.h"

#if PY_VERSION_HEX < 0x030C0000

#include <cstring>
#include <utility>

#include <frameobject.h>

#include "python/held_signals.h"

namespace perfprobe {
namespace {

int on_event(PyObject* nothing, PyFrameObject* frame, int what, PyObject* argument);

// The interpreter's definition. It is read before the program can replace it.
const PyMethodDef* exec_definition() {
  static const PyMethodDef* const found =
      definition_of(PyDict_GetItemString(PyEval_GetBuiltins(), "exec"));
  return found;
}

void take_off() {
  PyEval_SetProfile(nullptr, nullptr);
}

// Every way to install another profile function first raises this event.
int on_audit(const char* event, PyObject* /*arguments*/, void* /*nothing*/) {
  CallProfile* profile = CallProfile::active();
  if (profile == nullptr || std::strcmp(event, "sys.setprofile") != 0)
    return 0;
  PyThreadState* state = PyThreadState_Get();
  if (state->c_profilefunc != &on_event)
    return 0;
  const CountedThread* thread = this_thread();
  const bool from_python = thread != nullptr && thread->calling == setprofile_definition();
  profile->end(Ending::other_profiler);
  profile->write();
  if (from_python)
    hold_tracing();
  return 0;
}

// The body of a library's module runs at full speed without events: `import torch` makes millions
// of them. Whether events are sent is a field of the innermost evaluation, which it passes to the
// outer one. The field can only be cleared outside of the hook. It is set again when the `exec`
// that runs the body returns: that event is always sent.
int silence(void* argument) {
  auto* thread = static_cast<CountedThread*>(argument);
  const bool wanted = std::exchange(thread->silence_wanted, false);
  if (!wanted || thread->profile != CallProfile::active() || !thread->filter->skips_library() ||
      thread->state->c_tracefunc != nullptr)
    return 0;
  thread->silent = true;
  thread->silent_execs = 0;
  thread->state->cframe->use_tracing = 0;
  return 0;
}

// Whether this event ends the silence. Others only come if something has enabled tracing again.
bool ends_silence(CountedThread& thread, int what, PyObject* argument) {
  if (what < PyTrace_C_CALL || definition_of(argument) != exec_definition())
    return false;
  if (what == PyTrace_C_CALL)
    ++thread.silent_execs;
  else if (thread.silent_execs-- == 0)
    thread.silent = false;
  if (!thread.silent)
    thread.filter->leave_library();
  return !thread.silent;
}

bool enters(CountedThread& thread, PyCodeObject* code) {
  if (thread.filter->enter(code))
    return thread.profile->count_call();
  if (thread.by_exec && thread.filter->skips_library() && is_main_thread())
    thread.silence_wanted = Py_AddPendingCall(&silence, &thread) == 0;
  return false;
}

bool counts(CountedThread& thread, PyFrameObject* frame, int what, PyObject* argument) {
  if (thread.silent && !ends_silence(thread, what, argument))
    return false;
  if (what == PyTrace_CALL || what == PyTrace_RETURN) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    Py_DECREF(code);  // the frame keeps it alive
    const bool found = what == PyTrace_CALL ? enters(thread, code) : thread.filter->leave(code);
    thread.by_exec = false;
    return found;
  }
  if (thread.filter->skips())
    return false;
  thread.by_exec = false;
  if (what != PyTrace_C_CALL || PyCFunction_Check(argument) == 0)
    return true;
  thread.calling = definition_of(argument);
  thread.by_exec = thread.calling == exec_definition();
  return thread.profile->count_c_call();
}

// Does not use the interpreter's way to call, which fails at the recursion limit.
bool disable(PyObject* profiler) {
  PyObject* method = PyObject_GetAttrString(profiler, "disable");
  PyObject* disabled = nullptr;
  if (method != nullptr && PyCFunction_Check(method) != 0)
    disabled = PyCFunction_GET_FUNCTION(method)(profiler, nullptr);
  if (disabled == nullptr)
    PyErr_Clear();
  Py_XDECREF(method);
  Py_XDECREF(disabled);
  return disabled != nullptr;
}

int on_event(PyObject* /*nothing*/, PyFrameObject* frame, int what, PyObject* argument) {
  CountedThread* thread = this_thread();
  if (thread == nullptr || thread->profile != CallProfile::active()) {
    take_off();  // the profile has ended, or this is a forked child
    return 0;
  }
  if (thread->state->c_tracefunc != nullptr) {
    CallProfile* profile = thread->profile;
    profile->end(Ending::tracer);
    profile->write();
    return 0;
  }
  if (!counts(*thread, frame, what, argument))
    return 0;
  return thread->profile->timed(
      [&] { return thread->forward(thread->profiler, frame, what, argument); });
}

// A new thread calls this as its profile function.
PyObject* start_thread(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t count) {
  CallProfile* profile = CallProfile::active();
  const bool is_event = count == 3 && PyFrame_Check(arguments[0]) != 0;
  if (!is_event || profile == nullptr || profile->join() == nullptr) {
    take_off();
  } else if (PyUnicode_CompareWithASCIIString(arguments[1], "call") == 0) {
    on_event(nullptr, reinterpret_cast<PyFrameObject*>(arguments[0]), PyTrace_CALL, Py_None);
  }
  Py_RETURN_NONE;
}

PyMethodDef start_thread_definition = {
    "count_calls", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&start_thread)),
    METH_FASTCALL, nullptr};

}  // namespace

bool open_hook() {
  stop_in_forked_children();
  static_cast<void>(setprofile_definition());
  static_cast<void>(exec_definition());
  static const int added = PySys_AddAuditHook(&on_audit, nullptr);
  if (added != 0)
    PyErr_Clear();
  return true;
}

bool start_events() {
  return true;  // events begin with the first thread
}

void close_hook() {}

bool attach(CountedThread& thread) {
  PyObject* enabled = PyObject_CallMethod(thread.profiler, "enable", nullptr);
  if (enabled == nullptr)
    return false;
  Py_DECREF(enabled);
  thread.state = PyThreadState_Get();
  thread.forward = thread.state->c_profilefunc;
  PyEval_SetProfile(&on_event, nullptr);  // without an object sys.getprofile() stays None
  return true;
}

// `disable` removes the hook of the calling thread, whichever thread that is.
void finish(CountedThread& thread) {
  const PyThreadState* state = PyThreadState_Get();
  const Py_tracefunc function = state->c_profilefunc;
  PyObject* object = state->c_profileobj;
  Py_XINCREF(object);
  // Refused once while another profile function is being installed.
  if (!disable(thread.profiler))
    disable(thread.profiler);
  if (function != nullptr && function != &on_event)
    PyEval_SetProfile(function, object);
  Py_XDECREF(object);
}

bool is_occupied() {
  const PyThreadState* state = PyThreadState_Get();
  return state->c_profilefunc != nullptr || state->c_tracefunc != nullptr;
}

PyObject* thread_starter() {
  static PyObject* const starter = PyCFunction_New(&start_thread_definition, nullptr);
  return starter;
}

}  // namespace perfprobe

#endif
