#include "python/process_starts.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "python/held_signals.h"
#include "python/keep_exception.h"
#include "python/profile_hook.h"

namespace perfprobe {
namespace {

constexpr std::array<std::string_view, 3> kStarts{"subprocess.Popen", "os.system",
                                                  "os.posix_spawn"};

PyObject* current_told = nullptr;

// The Python code called here is not part of the program: no profile function sees it, and its
// errors are ignored.
int on_process_start(const char* event, PyObject* arguments, void* /*nothing*/) {
  if (current_told == nullptr || std::ranges::find(kStarts, event) == kStarts.end())
    return 0;
  if (PyInterpreterState_Get() != PyInterpreterState_Main())
    return 0;
  const HeldSignals signals;
  const KeepException keep_exception;
  const HeldTracing held;
  PyObject* told = current_told;
  Py_INCREF(told);
  PyObject* result = PyObject_CallFunction(told, "sO", event, arguments);
  if (result == nullptr)
    PyErr_Clear();
  Py_XDECREF(result);
  Py_DECREF(told);
  return 0;
}

}  // namespace

bool tell_of_process_starts(PyObject* told) {
  static bool is_added = false;
  if (!is_added && told != nullptr) {
    if (PySys_AddAuditHook(&on_process_start, nullptr) != 0)
      return false;
    is_added = true;
  }
  Py_XINCREF(told);
  Py_XDECREF(std::exchange(current_told, told));
  return true;
}

}  // namespace perfprobe
