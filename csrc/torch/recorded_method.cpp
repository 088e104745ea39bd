#include "torch/recorded_method.h"

#include <cstddef>

#include <structmember.h>

#include "python/held_signals.h"
#include "torch/observer.h"
#include "torch/recorded_call.h"

namespace perfprobe {
namespace {

struct RecordedMethod {
  PyObject head;
  vectorcallfunc call;
  PyObject* function;
  PyObject* names;
  PyObject* name_of;
  at::RecordScope scope;
};

const RecordedMethod& of(PyObject* object) {
  return *reinterpret_cast<RecordedMethod*>(object);
}

// object: nullptr if there is none. Returns a new reference; nullptr for no name.
PyObject* name_for(const RecordedMethod& self, PyObject* object) {
  if (PyUnicode_CheckExact(self.names))
    return Py_NewRef(self.names);
  if (object == nullptr)
    return nullptr;
  PyObject* address = PyLong_FromVoidPtr(object);
  PyObject* known = address == nullptr ? nullptr : PyDict_GetItemWithError(self.names, address);
  Py_XDECREF(address);
  if (known != nullptr)
    return Py_NewRef(known);
  const HeldSignals held;
  PyErr_Clear();
  return PyObject_CallOneArg(self.name_of, object);
}

// Returns the name's text; nullptr if the call is not to be recorded.
const char* utf8_of(PyObject* name) {
  return name != nullptr && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
}

PyObject* call_recorded(const RecordedMethod& self, PyObject* const* arguments, size_t flags,
                        PyObject* names) {
  const size_t count = static_cast<size_t>(PyVectorcall_NARGS(flags));
  const size_t bound = PyFunction_Check(self.function) && count > 0 ? 1 : 0;
  PyObject* name = name_for(self, bound == 1 ? arguments[0] : nullptr);
  const char* text = utf8_of(name);
  if (text == nullptr)
    PyErr_Clear();
  PyObject* result = nullptr;
  if (text == nullptr) {
    result = PyObject_Vectorcall(self.function, arguments, flags, names);
  } else {
    const RecordedCall recorded(text, self.scope, arguments + bound, count - bound);
    result = PyObject_Vectorcall(self.function, arguments, flags, names);
  }
  Py_XDECREF(name);
  return result;
}

PyObject* call_method(PyObject* object, PyObject* const* arguments, size_t flags, PyObject* names) {
  const RecordedMethod& self = of(object);
  if (!is_recording()) [[likely]]
    return PyObject_Vectorcall(self.function, arguments, flags, names);
  Py_INCREF(object);  // the call may end the recording, which restores the original function
  PyObject* result = call_recorded(self, arguments, flags, names);
  Py_DECREF(object);
  return result;
}

PyObject* bind(PyObject* object, PyObject* instance, PyObject* /*type*/) {
  const bool is_bound = instance != nullptr && PyFunction_Check(of(object).function);
  return is_bound ? PyMethod_New(object, instance) : Py_NewRef(object);
}

// Most attributes are those of the function, `__class__` too: dynamo breaks the graph at an object
// that is not a function by `isinstance`, and finds its rules by equality.
PyObject* get_attribute(PyObject* object, PyObject* name) {
  for (const char* own : {"__wrapped__", "__reduce__", "__reduce_ex__", "__get__"}) {
    if (PyUnicode_CompareWithASCIIString(name, own) == 0)
      return PyObject_GenericGetAttr(object, name);
  }
  return PyObject_GetAttr(of(object).function, name);
}

int set_attribute(PyObject* object, PyObject* name, PyObject* value) {
  return PyObject_SetAttr(of(object).function, name, value);
}

PyObject* show(PyObject* object) {
  return PyObject_Repr(of(object).function);
}

// A dict finds it under the same key as the function.
Py_hash_t hash_of(PyObject* object) {
  return PyObject_Hash(of(object).function);
}

PyObject* compare(PyObject* object, PyObject* other, int operation) {
  const bool is_ours = Py_TYPE(other) == Py_TYPE(object);
  return PyObject_RichCompare(of(object).function, is_ours ? of(other).function : other, operation);
}

// Pickled and copied like a function: by the name under which it can be imported.
PyObject* reduce(PyObject* object, PyObject* /*protocol*/) {
  return PyObject_GetAttrString(of(object).function, "__qualname__");
}

void free_method(PyObject* object) {
  const RecordedMethod& self = of(object);
  PyTypeObject* type = Py_TYPE(object);
  Py_DECREF(self.function);
  Py_DECREF(self.names);
  Py_DECREF(self.name_of);
  type->tp_free(object);
  Py_DECREF(type);  // the type was made at run time: its objects own it
}

PyMemberDef method_members[] = {
    {"__wrapped__", T_OBJECT_EX, offsetof(RecordedMethod, function), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(RecordedMethod, call), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {"__reduce_ex__", reduce, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot method_slots[] = {
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(bind)},
    {Py_tp_getattro, reinterpret_cast<void*>(get_attribute)},
    {Py_tp_setattro, reinterpret_cast<void*>(set_attribute)},
    {Py_tp_hash, reinterpret_cast<void*>(hash_of)},
    {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
    {Py_tp_repr, reinterpret_cast<void*>(show)},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_method)},
    {Py_tp_members, method_members},
    {Py_tp_methods, methods},
    {0, nullptr},
};

// No garbage collection needed: whoever installs one also removes it, which breaks its cycles.
PyType_Spec method_spec = {"perfprobe._observer.RecordedMethod", sizeof(RecordedMethod), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, method_slots};

}  // namespace

PyObject* wrap_method(PyObject* function, PyObject* names, PyObject* name_of,
                      at::RecordScope scope) {
  static PyObject* const type = PyType_FromSpec(&method_spec);
  if (type == nullptr)
    return nullptr;
  auto* self = PyObject_New(RecordedMethod, reinterpret_cast<PyTypeObject*>(type));
  if (self == nullptr)
    return nullptr;
  self->call = call_method;
  self->function = Py_NewRef(function);
  self->names = Py_NewRef(names);
  self->name_of = Py_NewRef(name_of);
  self->scope = scope;
  return reinterpret_cast<PyObject*>(self);
}

}  // namespace perfprobe
