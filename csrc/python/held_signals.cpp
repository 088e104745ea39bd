#include "python/held_signals.h"

#include <array>
#include <csignal>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "python/keep_exception.h"

namespace perfprobe {
namespace {

struct HeldSignal {
  PyObject* handler = nullptr;  // the program's; nullptr if the signal is not held
  struct sigaction action{};    // the kernel's part of it
};

// All of this is only used by the main thread. A signal is noted on any thread.
std::array<HeldSignal, NSIG> held_signals;
std::array<volatile std::sig_atomic_t, NSIG> noted;
std::vector<PyObject*>
    held_errors;  // exceptions to raise; a deque would allocate while it is loaded
int times_held = 0;

void note(int signal) {
  noted[static_cast<size_t>(signal)] = 1;
}

// Python's part: for a signal that arrived before the kernel knew `note`, and for
// `_thread.interrupt_main`, which involves no kernel.
PyObject* note_in_python(PyObject* /*module*/, PyObject* arguments) {
  int signal = 0;
  PyObject* frame = nullptr;
  if (PyArg_ParseTuple(arguments, "iO", &signal, &frame) == 0)
    return nullptr;
  note(signal);
  Py_RETURN_NONE;
}

PyMethodDef note_definition = {"note_signal", note_in_python, METH_VARARGS, nullptr};

// Functions of the module `_signal`, read before the program can replace them.
PyObject* signal_function(const char* name) {
  PyObject* module = PyImport_ImportModule("_signal");
  PyObject* found = module == nullptr ? nullptr : PyObject_GetAttrString(module, name);
  Py_XDECREF(module);
  return found;
}

// Not through the interpreter, which refuses calls at the recursion limit.
PyObject* call(PyObject* function, PyObject* const* arguments, Py_ssize_t count) {
  if (function == nullptr)
    return nullptr;
  const int flags = PyCFunction_Check(function) == 0 ? 0 : PyCFunction_GET_FLAGS(function);
  if (flags == METH_O)
    return PyCFunction_GET_FUNCTION(function)(PyCFunction_GET_SELF(function), arguments[0]);
  if (flags != METH_FASTCALL)
    return PyObject_Vectorcall(function, arguments, static_cast<size_t>(count), nullptr);
  const auto fast = reinterpret_cast<_PyCFunctionFast>(
      reinterpret_cast<void (*)()>(PyCFunction_GET_FUNCTION(function)));
  return fast(PyCFunction_GET_SELF(function), arguments, count);
}

PyObject* noter() {
  static PyObject* const made = PyCFunction_New(&note_definition, nullptr);
  return made;
}

// Returns a new reference; nullptr if Python has no handler for the signal.
PyObject* handler_of(int signal) {
  static PyObject* const get = signal_function("getsignal");
  PyObject* number = PyLong_FromLong(signal);
  PyObject* found = number == nullptr ? nullptr : call(get, &number, 1);
  Py_XDECREF(number);
  if (found != nullptr && PyCallable_Check(found) != 0)
    return found;
  Py_XDECREF(found);
  PyErr_Clear();
  return nullptr;
}

// Before Python sets a handler, it runs those of signals that have just arrived. What these raise
// is kept.
bool set_handler(int signal, PyObject* handler) {
  constexpr int kMostTries = 100;
  static PyObject* const set = signal_function("signal");
  PyObject* const arguments[] = {PyLong_FromLong(signal), handler};
  bool is_set = false;
  for (int tries = 0; set != nullptr && !is_set && tries < kMostTries; ++tries) {
    PyObject* before = call(set, arguments, 2);
    is_set = before != nullptr;
    Py_XDECREF(before);
    if (!is_set)
      HeldSignals::raise_later();
  }
  Py_XDECREF(arguments[0]);
  return is_set;
}

// The kernel then calls `note`, but only where it calls Python's own handler now: another one, of
// faulthandler or a library, remains.
void hold_one(int signal, PyObject* handler) {
  HeldSignal& entry = held_signals[static_cast<size_t>(signal)];
  struct sigaction pythons{};
  ::sigaction(signal, nullptr, &entry.action);
  if (!set_handler(signal, noter())) {
    Py_DECREF(handler);
    return;
  }
  entry.handler = handler;
  ::sigaction(signal, nullptr, &pythons);
  struct sigaction ours = entry.action;
  if (ours.sa_handler == pythons.sa_handler)
    ours.sa_handler = note;
  ::sigaction(signal, &ours, nullptr);
}

// A handler that the program has set meanwhile, in a finalizer, remains.
void give_back(int signal) {
  HeldSignal& entry = held_signals[static_cast<size_t>(signal)];
  PyObject* handler = std::exchange(entry.handler, nullptr);
  if (handler == nullptr)
    return;
  PyObject* current = handler_of(signal);
  if (current == noter() && set_handler(signal, handler))
    ::sigaction(signal, &entry.action, nullptr);
  Py_XDECREF(current);
  Py_DECREF(handler);
}

// Without a frame the interpreter is ending, and no program is left.
int raise_kept(void* /*nothing*/) {
  if (times_held > 0 || held_errors.empty())
    return 0;
  PyObject* error = held_errors.front();
  held_errors.erase(held_errors.begin());
  if (!held_errors.empty())
    Py_AddPendingCall(&raise_kept, nullptr);
  const bool has_program = PyEval_GetFrame() != nullptr;
  if (has_program)
    PyErr_Restore(Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(error))), Py_NewRef(error),
                  PyException_GetTraceback(error));
  Py_DECREF(error);
  return has_program ? -1 : 0;
}

// Another thread forked while the main thread held signals. It is the main thread of the child.
PyObject* let_go_in_child(PyObject* /*module*/, PyObject* /*nothing*/) {
  if (std::exchange(times_held, 0) > 0) {
    for (int signal = 1; signal < NSIG; ++signal)
      give_back(signal);
  }
  for (auto& one : noted)
    one = 0;
  Py_RETURN_NONE;
}

PyMethodDef let_go_definition = {"let_go_of_signals", let_go_in_child, METH_NOARGS, nullptr};

void watch_forks() {
  static bool is_watching = false;
  if (std::exchange(is_watching, true))
    return;
  PyObject* module = PyImport_ImportModule("posix");
  PyObject* fork = module == nullptr ? nullptr : PyObject_GetAttrString(module, "register_at_fork");
  PyObject* call = PyCFunction_New(&let_go_definition, nullptr);
  PyObject* named = Py_BuildValue("{sO}", "after_in_child", call);
  PyObject* none = PyTuple_New(0);
  PyObject* done = fork == nullptr ? nullptr : PyObject_Call(fork, none, named);
  for (PyObject* object : {module, fork, call, named, none, done})
    Py_XDECREF(object);
  PyErr_Clear();
}

void hold_all() {
  const KeepException keep_exception;
  watch_forks();
  for (int signal = 1; signal < NSIG; ++signal) {
    PyObject* handler = handler_of(signal);
    if (handler != nullptr)
      hold_one(signal, handler);
  }
}

// From here on Python finds the signals that arrived, as if they arrived now.
void give_all_back() {
  const KeepException keep_exception;
  for (int signal = 1; signal < NSIG; ++signal)
    give_back(signal);
  for (int signal = 1; signal < NSIG; ++signal) {
    auto& one = noted[static_cast<size_t>(signal)];
    if (one == 0)
      continue;
    one = 0;
    PyErr_SetInterruptEx(signal);
  }
  if (!held_errors.empty())
    Py_AddPendingCall(&raise_kept, nullptr);
}

}  // namespace

bool is_main_thread() {
  return ::syscall(SYS_gettid) == ::getpid();
}

HeldSignals::HeldSignals()
    : is_holding_(is_main_thread() && PyInterpreterState_Get() == PyInterpreterState_Main()) {
  if (is_holding_ && times_held++ == 0)
    hold_all();
}

HeldSignals::~HeldSignals() {
  if (is_holding_ && times_held > 0 && --times_held == 0)
    give_all_back();
}

bool HeldSignals::are_held() {
  return times_held > 0 && is_main_thread();
}

bool HeldSignals::have_arrived() {
  for (const auto& one : noted) {
    if (one != 0)
      return true;
  }
  return !held_errors.empty();
}

// An interrupt whose handler has already run counts as one that has arrived.
PyObject* HeldSignals::drop() {
  for (; !held_errors.empty(); held_errors.erase(held_errors.begin())) {
    if (PyErr_GivenExceptionMatches(held_errors.front(), PyExc_KeyboardInterrupt) != 0)
      note(SIGINT);
    Py_DECREF(held_errors.front());
  }
  PyObject* numbers = PyList_New(0);
  for (int signal = 1; numbers != nullptr && signal < NSIG; ++signal) {
    auto& one = noted[static_cast<size_t>(signal)];
    PyObject* number = one == 0 ? nullptr : PyLong_FromLong(signal);
    if (number != nullptr && PyList_Append(numbers, number) != 0)
      Py_CLEAR(numbers);
    Py_XDECREF(number);
    one = 0;
  }
  return numbers;
}

void HeldSignals::raise_later() {
  PyObject* type = nullptr;
  PyObject* error = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &error, &traceback);
  PyErr_NormalizeException(&type, &error, &traceback);
  if (traceback != nullptr)
    PyException_SetTraceback(error, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  if (error != nullptr)
    held_errors.push_back(error);
  if (times_held == 0 && !held_errors.empty())
    Py_AddPendingCall(&raise_kept, nullptr);
}

ReleasedSignals::ReleasedSignals()
    : depth_(HeldSignals::are_held() ? std::exchange(times_held, 0) : 0) {
  if (depth_ > 0)
    give_all_back();
}

ReleasedSignals::~ReleasedSignals() {
  if (depth_ > 0 && is_main_thread()) {
    times_held = depth_;
    hold_all();
  }
}

}  // namespace perfprobe
