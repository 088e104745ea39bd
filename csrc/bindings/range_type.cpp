#include "bindings/range_type.h"

#include <iterator>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "core/device_memory_log.h"
#include "core/step_log.h"
#include "gpu/own_ranges.h"

namespace perfprobe {
namespace {

// One entry of a range that was not left yet.
struct Entered {
  unsigned long thread;
  int64_t token;
};

// Guarded by the GIL. One object may be entered again while it is open, also by several threads.
struct Range {
  PyObject_HEAD PyObject* name;
  bool is_open;
  Entered newest;
  std::vector<Entered>* older;  // created on first use, which is rare
};

Range* range(PyObject* object) {
  return reinterpret_cast<Range*>(object);
}

PyObject* create(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"name", nullptr};
  PyObject* name = nullptr;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "O:range", const_cast<char**>(names),
                                  &name) == 0)
    return nullptr;
  if (!PyUnicode_Check(name)) {
    PyErr_Format(PyExc_TypeError, "a range needs a name, as in perfprobe.range('load'), and not %R",
                 name);
    return nullptr;
  }
  PyObject* made = type->tp_alloc(type, 0);  // all zero
  if (made != nullptr)
    range(made)->name = Py_NewRef(name);
  return made;
}

void destroy(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_CLEAR(range(self)->name);
  delete range(self)->older;
  type->tp_free(self);
  Py_DECREF(type);
}

// `with perfprobe.step():` is a step for what looks for steps while the program runs.
void mark_step(const Range& marked, LoopEvent event) {
  constexpr const char* kStep = "perfprobe.step";  // STEP_NAME of perfprobe/tables/scopes.py
  const bool is_asked = StepLog::is_running() || DeviceMemoryLog::is_running();
  if (!is_asked || PyUnicode_CompareWithASCIIString(marked.name, kStep) != 0)
    return;
  if (StepLog::is_running())
    StepLog::mark(event);
  if (event == LoopEvent::block_end)
    DeviceMemoryLog::mark();
}

PyObject* enter(PyObject* self, PyObject* /*none*/) {
  Range* entered = range(self);
  mark_step(*entered, LoopEvent::block_begin);
  if (entered->is_open) {
    try {
      if (entered->older == nullptr)
        entered->older = new std::vector<Entered>;
      entered->older->push_back(entered->newest);
    } catch (const std::bad_alloc&) {
      return PyErr_NoMemory();
    }
  }
  entered->is_open = true;
  entered->newest = {PyThread_get_thread_ident(), begin_range(entered->name)};
  return Py_NewRef(self);
}

// Removes and returns the newest token of the calling thread, else of any thread.
int64_t take_token(Range& left) {
  const unsigned long own = PyThread_get_thread_ident();
  std::vector<Entered>* older = left.older;
  const int64_t token = left.newest.token;
  if (older == nullptr || older->empty()) {
    left.is_open = false;
    return token;
  }
  if (left.newest.thread != own) {
    for (auto entered = older->rbegin(); entered != older->rend(); ++entered) {
      if (entered->thread != own)
        continue;
      const int64_t mine = entered->token;
      older->erase(std::next(entered).base());
      return mine;
    }
  }
  left.newest = older->back();
  older->pop_back();
  return token;
}

PyObject* leave(PyObject* self, PyObject* const* /*error*/, Py_ssize_t /*count*/) {
  if (range(self)->is_open)
    own_ranges::end(take_token(*range(self)));
  mark_step(*range(self), LoopEvent::block_end);
  Py_RETURN_NONE;
}

PyObject* decorate(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"function", nullptr};
  PyObject* function = nullptr;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "O:range", const_cast<char**>(names),
                                  &function) == 0)
    return nullptr;
  PyObject* module = PyImport_ImportModule("perfprobe.collect.named");
  if (module == nullptr)
    return nullptr;
  PyObject* made = PyObject_CallMethod(module, "decorated", "OO", function, range(self)->name);
  Py_DECREF(module);
  return made;
}

template <class Function>
void* generic(Function* function) {
  return reinterpret_cast<void*>(function);
}

constexpr const char* kDocumentation =
    R"(A part of the program with a name: `with perfprobe.range("load"): ...`, or `@perfprobe.range("load")`.

It lands in the table `ranges` of the recording that runs (and in none where none does), and in
Nsight or VTune where one of them listens, in the domain "perfprobe". Ranges nest, end when an
exception leaves them, and may be set on any thread; one object may be entered again, and by several
threads at once. A range belongs to the thread that it began on: one that ends on another is recorded
as still open.

As a decorator: of a function, each call is a range. Of an `async def` function or a generator
function, the range lasts from the first step of what the call returned to its end, with whatever ran
between its steps.

Args:
    name: at most 1024 bytes are kept, and 65,536 different names.

Raises:
    TypeError: the name is not a string; or, as a decorator, the function is an asynchronous generator.)";

}  // namespace

int64_t begin_range(PyObject* name) {
  if (!own_ranges::is_wanted())
    return 0;
  const char* text = PyUnicode_AsUTF8(name);  // kept by the string itself
  if (text != nullptr)
    return own_ranges::begin(text);
  PyErr_Clear();  // lone surrogates
  PyObject* bytes = PyUnicode_AsEncodedString(name, "utf-8", "replace");
  const int64_t token = bytes == nullptr ? 0 : own_ranges::begin(PyBytes_AS_STRING(bytes));
  PyErr_Clear();
  Py_XDECREF(bytes);
  return token;
}

PyObject* make_range_type() {
  static PyMethodDef methods[] = {
      {"__enter__", enter, METH_NOARGS, nullptr},
      {"__exit__", reinterpret_cast<PyCFunction>(generic(leave)), METH_FASTCALL, nullptr},
      {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>(kDocumentation)},
                                {Py_tp_new, generic(create)},
                                {Py_tp_dealloc, generic(destroy)},
                                {Py_tp_call, generic(decorate)},
                                {Py_tp_methods, methods},
                                {0, nullptr}};
  static PyType_Spec spec = {"perfprobe.range", sizeof(Range), 0, Py_TPFLAGS_DEFAULT, slots};
  return PyType_FromSpec(&spec);
}

}  // namespace perfprobe
