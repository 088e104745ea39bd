#include "python/frameless.h"

#include <cstddef>
#include <iterator>
#include <vector>

#include <structmember.h>

#include "python/held_signals.h"
#include "python/keep_exception.h"

namespace perfprobe {
namespace {

struct Frameless {
  PyObject head;
  vectorcallfunc call;
  PyObject* function;
  PyObject* before;
  PyObject* after;
};

const Frameless& frameless(PyObject* object) {
  return *reinterpret_cast<Frameless*>(object);
}

PyObject* call_held(PyObject* object, PyObject* const* arguments, size_t flags, PyObject* names) {
  Py_INCREF(object);  // the call may remove the last reference to it
  PyObject* result = nullptr;
  {
    const HeldSignals held;
    result = PyObject_Vectorcall(frameless(object).function, arguments, flags, names);
  }
  Py_DECREF(object);
  return result;
}

#if PY_VERSION_HEX >= 0x030E0000

// Calls `leave` with the exception that is set, which stays set.
void leave_again(PyObject* leave, PyObject* manager) {
  const HeldSignals held;
  PyObject* error = PyErr_GetRaisedException();
  PyObject* arguments[] = {manager, reinterpret_cast<PyObject*>(Py_TYPE(error)), error, Py_None};
  Py_XDECREF(PyObject_Vectorcall(leave, arguments, std::size(arguments), nullptr));
  PyErr_Clear();
  PyErr_SetRaisedException(error);
}

PyObject* call_entering(PyObject* object, PyObject* const* arguments, size_t flags,
                        PyObject* names) {
  PyObject* result = call_held(object, arguments, flags, names);
  if (result != nullptr && Py_MakePendingCalls() != 0) {
    Py_DECREF(result);
    leave_again(frameless(object).after, arguments[0]);
    return nullptr;
  }
  return result;
}

#endif

bool runs_before(const Frameless& self, PyObject* const* arguments, size_t count) {
  if (self.before == nullptr)
    return true;
  const HeldSignals held;
  PyObject* result = PyObject_Vectorcall(self.before, arguments, count, nullptr);
  Py_XDECREF(result);
  return result != nullptr;
}

// Takes the result of the function, and returns that of `after`.
PyObject* run_after(const Frameless& self, PyObject* result, PyObject* const* arguments,
                    size_t count) {
  const HeldSignals held;
  std::vector<PyObject*> given{result == nullptr ? Py_False : Py_True,
                               result == nullptr ? Py_None : result};
  given.insert(given.end(), arguments, arguments + count);
  const auto call = [&] {
    return PyObject_Vectorcall(self.after, given.data(), given.size(), nullptr);
  };
  if (result != nullptr) {
    PyObject* changed = call();
    Py_DECREF(result);
    return changed;
  }
  const KeepException keep_exception;  // of the program, which takes precedence
  Py_XDECREF(call());
  PyErr_Clear();
  return nullptr;
}

PyObject* call_around(PyObject* object, PyObject* const* arguments, size_t flags, PyObject* names) {
  const Frameless& self = frameless(object);
  const auto count = static_cast<size_t>(PyVectorcall_NARGS(flags));
  Py_INCREF(object);
  PyObject* result = nullptr;
  if (runs_before(self, arguments, count)) {
    result = PyObject_Vectorcall(self.function, arguments, flags, names);
    if (self.after != nullptr)
      result = run_after(self, result, arguments, count);
  }
  Py_DECREF(object);
  return result;
}

PyObject* bind_frameless(PyObject* object, PyObject* instance, PyObject* /*type*/) {
  const bool is_bound = instance != nullptr && PyFunction_Check(frameless(object).function);
  return is_bound ? PyMethod_New(object, instance) : Py_NewRef(object);
}

// Name, signature and documentation are those of the function.
PyObject* frameless_attribute(PyObject* object, PyObject* name) {
  for (const char* own : {"__wrapped__", "__after__", "__get__", "__class__", "__reduce_ex__"}) {
    if (PyUnicode_CompareWithASCIIString(name, own) == 0)
      return PyObject_GenericGetAttr(object, name);
  }
  return PyObject_GetAttr(frameless(object).function, name);
}

void free_frameless(PyObject* object) {
  const Frameless& self = frameless(object);
  PyTypeObject* type = Py_TYPE(object);
  Py_DECREF(self.function);
  Py_XDECREF(self.before);
  Py_XDECREF(self.after);
  type->tp_free(object);
  Py_DECREF(type);  // the type was made at run time: its objects own it
}

PyMemberDef frameless_members[] = {
    {"__wrapped__", T_OBJECT_EX, offsetof(Frameless, function), READONLY, nullptr},
    {"__after__", T_OBJECT_EX, offsetof(Frameless, after), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Frameless, call), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot frameless_slots[] = {
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(bind_frameless)},
    {Py_tp_getattro, reinterpret_cast<void*>(frameless_attribute)},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_frameless)},
    {Py_tp_members, frameless_members},
    {0, nullptr},
};

// No garbage collection needed: whoever installs one also removes it, which breaks its cycles.
PyType_Spec frameless_spec = {"perfprobe._core.Frameless", sizeof(Frameless), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, frameless_slots};

PyObject* make_frameless(vectorcallfunc call, PyObject* function, PyObject* before,
                         PyObject* after) {
  static PyObject* const type = PyType_FromSpec(&frameless_spec);
  if (type == nullptr)
    return nullptr;
  auto* self = PyObject_New(Frameless, reinterpret_cast<PyTypeObject*>(type));
  if (self == nullptr)
    return nullptr;
  self->call = call;
  self->function = Py_NewRef(function);
  self->before = Py_XNewRef(before);
  self->after = Py_XNewRef(after);
  return reinterpret_cast<PyObject*>(self);
}

}  // namespace

PyObject* make_undisturbed(PyObject* function) {
  return make_frameless(&call_held, function, nullptr, nullptr);
}

PyObject* make_entering(PyObject* enter, [[maybe_unused]] PyObject* leave) {
#if PY_VERSION_HEX >= 0x030E0000
  return make_frameless(&call_entering, enter, nullptr, leave);
#else
  return make_undisturbed(enter);
#endif
}

PyObject* wrap_around(PyObject* function, PyObject* before, PyObject* after) {
  return make_frameless(&call_around, function, before, after);
}

}  // namespace perfprobe
