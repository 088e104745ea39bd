#include "python/profile_hook.h"

#include <pthread.h>
#include <utility>

#include <opcode.h>

#include "python/held_signals.h"

namespace perfprobe {
namespace {

thread_local constinit CountedThread* counted = nullptr;

// Makes the profiler of an ended thread available to another thread.
struct Goodbye {
  CountedThread* thread = nullptr;
  ~Goodbye() {
    if (thread != nullptr)
      thread->over = true;
  }
};
thread_local Goodbye goodbye;

void enter_tracing(PyThreadState* state) {
#if PY_VERSION_HEX >= 0x030B0000
  PyThreadState_EnterTracing(state);
#else
  ++state->tracing;
#endif
}

void leave_tracing(PyThreadState* state) {
#if PY_VERSION_HEX >= 0x030B0000
  PyThreadState_LeaveTracing(state);
#else
  --state->tracing;
#endif
}

int release_tracing(void* state) {
  leave_tracing(static_cast<PyThreadState*>(state));
  return 0;
}

}  // namespace

const PyMethodDef* definition_of(PyObject* function) {
  const bool is_native = function != nullptr && PyCFunction_Check(function) != 0;
  return is_native ? reinterpret_cast<PyCFunctionObject*>(function)->m_ml : nullptr;
}

const PyMethodDef* setprofile_definition() {
  static const PyMethodDef* const found = definition_of(PySys_GetObject("setprofile"));
  return found;
}

void hold_tracing() {
  PyThreadState* state = PyThreadState_Get();
  if (is_main_thread() && Py_AddPendingCall(&release_tracing, state) == 0)
    enter_tracing(state);
}

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000

bool enters_again() {
  PyThreadState* state = PyThreadState_Get();
  if (state->cframe->use_tracing == 0)
    return false;
  PyFrameObject* frame = PyThreadState_GetFrame(state);
  if (frame == nullptr)
    return false;
  PyCodeObject* code = PyFrame_GetCode(frame);
  PyObject* bytes = PyCode_GetCode(code);
  const int place = PyFrame_GetLasti(frame);
  const bool found = bytes != nullptr && place >= 0 && place < PyBytes_GET_SIZE(bytes) &&
                     static_cast<unsigned char>(PyBytes_AS_STRING(bytes)[place]) == RESUME;
  PyErr_Clear();
  Py_XDECREF(bytes);
  Py_DECREF(code);
  Py_DECREF(frame);
  return found;
}

#else

bool enters_again() {
  return false;
}

#endif

HeldTracing::HeldTracing() : state_(PyThreadState_Get()) {
  enter_tracing(state_);
}

HeldTracing::~HeldTracing() {
  leave_tracing(state_);
}

void report_calls() {
  PyThreadState* state = PyThreadState_Get();
  PyFrameObject* frame = PyEval_GetFrame();
  PyObject* native = PySys_GetObject("getprofile");
  Py_tracefunc report = state->c_profilefunc;
  if (report == nullptr || frame == nullptr || native == nullptr || PyCFunction_Check(native) == 0)
    return;
  const std::pair<int, PyObject*> events[] = {{PyTrace_CALL, Py_None},
                                              {PyTrace_RETURN, Py_None},
                                              {PyTrace_C_CALL, native},
                                              {PyTrace_C_RETURN, native}};
  for (const auto& [event, about] : events) {
    if (report(state->c_profileobj, frame, event, about) != 0)
      PyErr_Clear();
  }
}

CountedThread* this_thread() {
  return counted;
}

void set_this_thread(CountedThread* thread) {
  counted = thread;
  goodbye.thread = thread;
}

void stop_in_forked_children() {
  static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { CallProfile::forget_in_child(); });
  static_cast<void>(registered);
}

}  // namespace perfprobe
