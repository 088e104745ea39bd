// Binds callables that hold the program's signals while perfprobe's code runs.
#include <pybind11/pybind11.h>

#include "python/frameless.h"
#include "python/held_signals.h"

namespace py = pybind11;

namespace perfprobe {
namespace {

py::object made(PyObject* object) {
  if (object == nullptr)
    throw py::error_already_set();
  return py::reinterpret_steal<py::object>(object);
}

py::object around(const py::object& function, const py::object& before, const py::object& after) {
  const auto given = [](const py::object& step) { return step.is_none() ? nullptr : step.ptr(); };
  return made(wrap_around(function.ptr(), given(before), given(after)));
}

py::object call_released(const py::object& function, const py::args& arguments) {
  PyObject* result = nullptr;
  {
    const ReleasedSignals program_runs;
    result = PyObject_CallObject(function.ptr(), arguments.ptr());
  }
  return made(result);
}

}  // namespace

void bind_signals(py::module_& module) {
  module.def(
      "undisturbed",
      [](const py::object& function) { return made(make_undisturbed(function.ptr())); },
      py::arg("function"));
  module.def(
      "entering",
      [](const py::object& enter, const py::object& leave) {
        return made(make_entering(enter.ptr(), leave.ptr()));
      },
      py::arg("enter"), py::arg("leave"));
  module.def("around", &around, py::arg("function"), py::arg("before") = py::none(),
             py::arg("after") = py::none());
  module.def("released", &call_released, py::arg("function"));
  module.def("signals_have_arrived", &HeldSignals::have_arrived);
  module.def("drop_signals", [] { return made(HeldSignals::drop()); });
}

}  // namespace perfprobe
