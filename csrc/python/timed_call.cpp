#include "python/timed_call.h"

#include <cstddef>

#include <structmember.h>

#include "core/clock.h"
#include "core/private_memory.h"

namespace perfprobe {
namespace {

struct TimedCall {
  PyObject head;
  vectorcallfunc call;
  PyObject* function;
  PyObject* free;
  ChildSheet* sheet;
  TimedCells cells;
};

TimedCall& of(PyObject* object) {
  return *reinterpret_cast<TimedCall*>(object);
}

// Reads how many batches are in the queue.
void look_at_queue(const TimedCall& self) {
  PyObject* found = PyObject_CallNoArgs(self.free);
  const long long free = found == nullptr ? -1 : PyLong_AsLongLong(found);
  Py_XDECREF(found);
  if (free < 0 || free > self.cells.most_free) {
    PyErr_Clear();
    return;
  }
  const int64_t queued = self.cells.most_free - free;
  self.sheet->add(self.cells.row, ChildCell::queued, queued);
  self.sheet->add(self.cells.row, ChildCell::queued_looks, 1);
  self.sheet->raise(self.cells.row, ChildCell::queued_most, queued);
}

// After the first, second, fourth, eighth... batch: reading takes milliseconds.
void look_at_memory(const TimedCells& cells, ChildSheet& sheet) {
  const int64_t batches = sheet.get(cells.row, ChildCell::batches);
  if ((batches & (batches - 1)) != 0)
    return;
  const int64_t bytes = private_bytes();
  if (batches == 1)
    sheet.set(cells.row, ChildCell::private_first_bytes, bytes);
  sheet.set(cells.row, ChildCell::private_bytes, bytes);
}

void note(const TimedCall& self, int64_t begin_ns, bool has_failed) {
  const TimedCells& cells = self.cells;
  const int64_t end_ns = monotonic_ns();
  self.sheet->add(cells.row, cells.time, end_ns - begin_ns);
  if (cells.calls < 0)
    return;
  if (!has_failed) {
    self.sheet->add(cells.row, static_cast<ChildCell>(cells.calls), 1);
    if (cells.calls == static_cast<int>(ChildCell::batches))
      look_at_memory(cells, *self.sheet);
  }
  self.sheet->set(cells.row, ChildCell::last_ns, end_ns);
  self.sheet->set(cells.row, ChildCell::cpu_ns, process_cpu_ns());
}

PyObject* call_timed(PyObject* object, PyObject* const* arguments, size_t flags, PyObject* names) {
  const TimedCall& self = of(object);
  Py_INCREF(object);
  if (self.free != nullptr)
    look_at_queue(self);
  const int64_t begin_ns = monotonic_ns();
  const auto first = static_cast<ChildCell>(self.cells.first);
  if (self.cells.first >= 0 && self.sheet->get(self.cells.row, first) == 0)
    self.sheet->set(self.cells.row, first, begin_ns);
  PyObject* result = PyObject_Vectorcall(self.function, arguments, flags, names);
  note(self, begin_ns, result == nullptr);
  Py_DECREF(object);
  return result;
}

PyObject* bind(PyObject* object, PyObject* instance, PyObject* /*type*/) {
  const bool is_bound = instance != nullptr && PyFunction_Check(of(object).function);
  return is_bound ? PyMethod_New(object, instance) : Py_NewRef(object);
}

void free_call(PyObject* object) {
  const TimedCall& self = of(object);
  PyTypeObject* type = Py_TYPE(object);
  Py_DECREF(self.function);
  Py_XDECREF(self.free);
  type->tp_free(object);
  Py_DECREF(type);  // the type was made at run time: its objects own it
}

PyMemberDef members[] = {
    {"__wrapped__", T_OBJECT_EX, offsetof(TimedCall, function), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(TimedCall, call), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(bind)},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_call)},
    {Py_tp_members, members},
    {0, nullptr},
};

PyType_Spec spec = {"perfprobe._core.TimedCall", sizeof(TimedCall), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, slots};

}  // namespace

PyObject* wrap_timed(PyObject* function, ChildSheet& sheet, const TimedCells& cells,
                     PyObject* free) {
  static PyObject* const type = PyType_FromSpec(&spec);
  if (type == nullptr)
    return nullptr;
  auto* self = PyObject_New(TimedCall, reinterpret_cast<PyTypeObject*>(type));
  if (self == nullptr)
    return nullptr;
  self->call = call_timed;
  self->function = Py_NewRef(function);
  self->free = Py_XNewRef(free);
  self->sheet = &sheet;
  self->cells = cells;
  return reinterpret_cast<PyObject*>(self);
}

}  // namespace perfprobe
