#include "torch/compiled_kernel.h"

#include <cstddef>

#include <structmember.h>

#include "torch/observer.h"
#include "torch/recorded_call.h"

namespace perfprobe {
namespace {

struct CompiledKernel {
  PyObject head;
  vectorcallfunc call;
  PyObject* name;
  const char* text;  // of `name`
  PyObject* kernel;
};

PyObject* call_recorded(const CompiledKernel& self, PyObject* const* arguments, size_t flags,
                        PyObject* names) {
  const auto count = static_cast<size_t>(PyVectorcall_NARGS(flags));
  const RecordedCall recorded(self.text, at::RecordScope::FUNCTION, arguments, count);
  return PyObject_Vectorcall(self.kernel, arguments, flags, names);
}

PyObject* call_kernel(PyObject* object, PyObject* const* arguments, size_t flags, PyObject* names) {
  const auto& self = *reinterpret_cast<CompiledKernel*>(object);
  if (is_recording()) [[likely]]
    return call_recorded(self, arguments, flags, names);
  return PyObject_Vectorcall(self.kernel, arguments, flags, names);
}

void free_kernel(PyObject* object) {
  auto* self = reinterpret_cast<CompiledKernel*>(object);
  PyTypeObject* type = Py_TYPE(object);
  Py_DECREF(self->name);
  Py_DECREF(self->kernel);
  type->tp_free(object);
  Py_DECREF(type);  // the type was made at run time: its objects own it
}

PyMemberDef kernel_members[] = {
    {"__name__", T_OBJECT_EX, offsetof(CompiledKernel, name), READONLY, nullptr},
    {"__wrapped__", T_OBJECT_EX, offsetof(CompiledKernel, kernel), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(CompiledKernel, call), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kernel_slots[] = {
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_kernel)},
    {Py_tp_members, kernel_members},
    {0, nullptr},
};

// No garbage collection needed: a kernel refers to nothing that refers back to it.
PyType_Spec kernel_spec = {"perfprobe._observer.CompiledKernel", sizeof(CompiledKernel), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, kernel_slots};

}  // namespace

PyObject* wrap_compiled_kernel(PyObject* name, PyObject* kernel) {
  static PyObject* const type = PyType_FromSpec(&kernel_spec);
  const char* text = PyUnicode_AsUTF8(name);
  if (type == nullptr || text == nullptr)
    return nullptr;
  auto* self = PyObject_New(CompiledKernel, reinterpret_cast<PyTypeObject*>(type));
  if (self == nullptr)
    return nullptr;
  self->call = call_kernel;
  self->name = Py_NewRef(name);
  self->text = text;
  self->kernel = Py_NewRef(kernel);
  return reinterpret_cast<PyObject*>(self);
}

}  // namespace perfprobe
