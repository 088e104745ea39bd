#include <string_view>

#include <pybind11/pybind11.h>

#include "core/forked_exit.h"
#include "core/handed_text.h"
#include "python/process_starts.h"

namespace py = pybind11;

namespace perfprobe {
namespace {

int handed(const py::bytes& text) {
  const int descriptor = handed_text(std::string_view(text));
  if (descriptor >= 0)
    return descriptor;
  PyErr_SetFromErrno(PyExc_OSError);
  throw py::error_already_set();
}

}  // namespace

void bind_processes(py::module_& module) {
  module.def(
      "tell_of_process_starts",
      [](const py::object& told) {
        if (!tell_of_process_starts(told.is_none() ? nullptr : told.ptr()))
          throw py::error_already_set();
      },
      py::arg("told"));
  module.def("handed_text", handed, py::arg("text"));
  module.def("end_forked_children_early", &end_forked_children_early);
}

}  // namespace perfprobe
