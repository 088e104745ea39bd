// The hook from Python 3.12 on: a tool of sys.monitoring. The profilers of _lsprof are never
// enabled; they are given the events of their own threads.
#include "python/profile_hook.h"

#if PY_VERSION_HEX >= 0x030C0000

#include <array>

namespace perfprobe {
namespace {

constexpr std::array kOtherTools = {0, 1, 2};  // debugger, coverage, profiler
constexpr std::array kOurTools = {4, 3};       // ids without a predefined meaning

enum Callback { start, leave, c_call, c_leave, callback_count };
constexpr std::array<const char*, callback_count> kForwards = {
    "_pystart_callback", "_pyreturn_callback", "_ccall_callback", "_creturn_callback"};

PyObject* on_start(PyObject* nothing, PyObject* const* arguments, Py_ssize_t count);
PyObject* on_leave(PyObject* nothing, PyObject* const* arguments, Py_ssize_t count);
PyObject* on_call(PyObject* nothing, PyObject* const* arguments, Py_ssize_t count);
PyObject* on_c_leave(PyObject* nothing, PyObject* const* arguments, Py_ssize_t count);

PyCFunction fast(_PyCFunctionFast function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

std::array<PyMethodDef, callback_count> methods = {{
    {"start", fast(&on_start), METH_FASTCALL, nullptr},
    {"leave", fast(&on_leave), METH_FASTCALL, nullptr},
    {"call", fast(&on_call), METH_FASTCALL, nullptr},
    {"c_leave", fast(&on_c_leave), METH_FASTCALL, nullptr},
}};

struct Event {
  const char* name;
  Callback callback;
};
constexpr Event kEvents[] = {{"PY_START", start},  {"PY_RESUME", start},  {"PY_THROW", start},
                             {"PY_RETURN", leave}, {"PY_YIELD", leave},   {"PY_UNWIND", leave},
                             {"CALL", c_call},     {"C_RETURN", c_leave}, {"C_RAISE", c_leave}};

int our_tool = -1;
const PyMethodDef* enable_definition = nullptr;  // of _lsprof.Profiler.enable

PyObject* monitoring() {
  return PySys_GetObject("monitoring");
}

bool done(PyObject* result) {
  Py_XDECREF(result);
  return result != nullptr;
}

bool is_taken(int tool) {
  PyObject* name = PyObject_CallMethod(monitoring(), "get_tool", "i", tool);
  const bool found = name != nullptr && name != Py_None;
  if (name == nullptr)
    PyErr_Clear();
  Py_XDECREF(name);
  return found;
}

// Returns whether a function of sys.setprofile, sys.settrace or similar is active on this thread.
Ending foreign_hook() {
  const PyThreadState* state = PyThreadState_Get();
  if (state->c_tracefunc != nullptr)
    return Ending::tracer;
  return state->c_profilefunc != nullptr ? Ending::other_profiler : Ending::none;
}

// Also for a method of a type.
const PyMethodDef* called_definition(PyObject* callable) {
  if (Py_IS_TYPE(callable, &PyMethodDescr_Type))
    return reinterpret_cast<PyMethodDescrObject*>(callable)->d_method;
  return definition_of(callable);
}

// Returns the state of the running thread. A thread seen for the first time joins.
CountedThread* counted_thread(bool may_join) {
  CallProfile* profile = CallProfile::active();
  if (profile == nullptr)
    return nullptr;
  CountedThread* thread = this_thread();
  if (thread != nullptr && thread->profile == profile)
    return thread;
  return may_join ? profile->join() : nullptr;
}

PyObject* forward(const CountedThread& thread, Callback callback, PyObject* const* arguments,
                  Py_ssize_t count) {
  PyObject* result = thread.profile->timed([&] {
    return PyObject_Vectorcall(thread.forwards[callback], arguments, static_cast<size_t>(count),
                               nullptr);
  });
  if (result == nullptr)
    PyErr_Clear();
  Py_XDECREF(result);
  Py_RETURN_NONE;
}

void end(CallProfile* profile, Ending why) {
  profile->end(why);
  profile->write();
}

PyObject* on_start(PyObject* /*nothing*/, PyObject* const* arguments, Py_ssize_t /*count*/) {
  // PY_THROW also has the exception, for which the profiler of 3.14 has no place.
  constexpr Py_ssize_t kCodeAndOffset = 2;
  CountedThread* thread = counted_thread(true);
  if (thread == nullptr)
    Py_RETURN_NONE;
  if (const Ending why = foreign_hook(); why != Ending::none) {
    end(thread->profile, why);
    Py_RETURN_NONE;
  }
  auto* code = reinterpret_cast<PyCodeObject*>(arguments[0]);
  if (!thread->filter->enter(code) || !thread->profile->count_call())
    Py_RETURN_NONE;
  return forward(*thread, start, arguments, kCodeAndOffset);
}

PyObject* on_leave(PyObject* /*nothing*/, PyObject* const* arguments, Py_ssize_t count) {
  CountedThread* thread = counted_thread(false);
  if (thread == nullptr || !thread->filter->leave(reinterpret_cast<PyCodeObject*>(arguments[0])))
    Py_RETURN_NONE;
  return forward(*thread, leave, arguments, count);
}

PyObject* on_call(PyObject* /*nothing*/, PyObject* const* arguments, Py_ssize_t count) {
  const PyMethodDef* definition = called_definition(arguments[2]);
  CountedThread* thread = counted_thread(false);
  if (thread == nullptr || definition == nullptr || thread->filter->skips())
    Py_RETURN_NONE;
  const bool sets_profile = definition == setprofile_definition() && arguments[3] != Py_None;
  if (sets_profile)
    hold_tracing();
  if (sets_profile || definition == enable_definition) {
    end(thread->profile, Ending::other_profiler);
    Py_RETURN_NONE;
  }
  if (!thread->profile->count_c_call())
    Py_RETURN_NONE;
  return forward(*thread, c_call, arguments, count);
}

PyObject* on_c_leave(PyObject* /*nothing*/, PyObject* const* arguments, Py_ssize_t count) {
  CountedThread* thread = counted_thread(false);
  if (thread == nullptr || thread->filter->skips())
    Py_RETURN_NONE;
  return forward(*thread, c_leave, arguments, count);
}

// Returns -1 with a Python exception set.
int take_tool() {
  for (const int tool : kOurTools) {
    if (!is_taken(tool))
      return done(PyObject_CallMethod(monitoring(), "use_tool_id", "is", tool, "perfprobe")) ? tool
                                                                                             : -1;
  }
  PyErr_SetString(PyExc_RuntimeError, "sys.monitoring has no tool left");
  return -1;
}

long event_number(const char* name) {
  PyObject* events = PyObject_GetAttrString(monitoring(), "events");
  PyObject* number = events == nullptr ? nullptr : PyObject_GetAttrString(events, name);
  const long found = number == nullptr ? -1 : PyLong_AsLong(number);
  Py_XDECREF(number);
  Py_XDECREF(events);
  return found;
}

bool listen() {
  std::array<PyObject*, callback_count> callbacks{};
  for (size_t i = 0; i < callbacks.size(); ++i)
    callbacks[i] = PyCFunction_New(&methods[i], nullptr);
  long all = 0;
  bool good = true;
  for (const Event& event : kEvents) {
    const long number = event_number(event.name);
    good = good && number > 0 &&
           done(PyObject_CallMethod(monitoring(), "register_callback", "ilO", our_tool, number,
                                    callbacks[event.callback]));
    all |= number;
  }
  for (PyObject* callback : callbacks)
    Py_XDECREF(callback);
  return good && done(PyObject_CallMethod(monitoring(), "set_events", "il", our_tool, all));
}

}  // namespace

bool open_hook() {
  static_cast<void>(setprofile_definition());
#ifdef Py_GIL_DISABLED
  PyErr_SetString(PyExc_RuntimeError, "calls cannot be counted in a free-threaded Python");
  return false;
#else
  stop_in_forked_children();
  our_tool = take_tool();
  return our_tool >= 0;
#endif
}

// Callbacks need not be removed: without events none is called.
void close_hook() {
  if (!done(PyObject_CallMethod(monitoring(), "set_events", "ii", our_tool, 0)) ||
      !done(PyObject_CallMethod(monitoring(), "free_tool_id", "i", our_tool)))
    PyErr_Clear();
}

// Attaching the first thread enables the events, which then find the thread.
bool attach(CountedThread& thread) {
  for (size_t i = 0; i < thread.forwards.size(); ++i) {
    Py_XSETREF(thread.forwards[i], PyObject_GetAttrString(thread.profiler, kForwards[i]));
    if (thread.forwards[i] == nullptr)
      return false;
  }
  if (enable_definition != nullptr)
    return true;
  PyObject* enable = PyObject_GetAttrString(thread.profiler, "enable");
  if (enable == nullptr)
    return false;
  enable_definition = definition_of(enable);
  Py_DECREF(enable);
  return true;
}

bool start_events() {
  return listen();
}

// A profiler closes its open calls when it is disabled. For that it must have been enabled.
void finish(CountedThread& thread) {
  if (!done(PyObject_CallMethod(thread.profiler, "enable", nullptr)) ||
      !done(PyObject_CallMethod(thread.profiler, "disable", nullptr)))
    PyErr_Clear();
}

bool is_occupied() {
  for (const int tool : kOtherTools) {
    if (is_taken(tool))
      return true;
  }
  return foreign_hook() != Ending::none;
}

PyObject* thread_starter() {
  return nullptr;  // not needed
}

}  // namespace perfprobe

#endif
