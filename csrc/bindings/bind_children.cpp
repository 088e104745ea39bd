#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

#include <pybind11/pybind11.h>

#include "core/child_sheet.h"
#include "python/timed_call.h"

namespace py = pybind11;

namespace perfprobe {
namespace {

// The Python object. The sheet itself is never destroyed, because timed calls go on using it.
class PyChildSheet {
 public:
  PyChildSheet(const std::string& path, ChildSheet::Way way) : sheet_(*new ChildSheet(path, way)) {}

  static ChildCell cell(const std::string& name) {
    const int found = ChildSheet::find(name);
    if (found < 0)
      throw py::value_error("the sheet has no cell " + name);
    return static_cast<ChildCell>(found);
  }

  py::object timed(const py::object& function, size_t row, const std::string& time,
                   const py::object& calls, const py::object& first, const py::object& free,
                   int64_t most_free) {
    const TimedCells cells{row, cell(time), number(calls), number(first), most_free};
    PyObject* made =
        wrap_timed(function.ptr(), sheet_, cells, free.is_none() ? nullptr : free.ptr());
    if (made == nullptr)
      throw py::error_already_set();
    return py::reinterpret_steal<py::object>(made);
  }

  [[nodiscard]] ChildSheet& sheet() const { return sheet_; }

 private:
  static int number(const py::object& name) {
    return name.is_none() ? -1 : static_cast<int>(cell(name.cast<std::string>()));
  }

  ChildSheet& sheet_;
};

PyChildSheet* make_sheet(const std::string& path, bool is_new) {
  try {
    return new PyChildSheet(path, is_new ? ChildSheet::Way::make : ChildSheet::Way::open);
  } catch (const std::system_error& error) {
    errno = error.code().value();
  }
  PyErr_SetFromErrnoWithFilename(PyExc_OSError, path.c_str());
  throw py::error_already_set();
}

}  // namespace

void bind_children(py::module_& module) {
  py::class_<PyChildSheet>(module, "ChildSheet")
      .def(py::init(&make_sheet), py::arg("path"), py::arg("is_new"))
      .def("take", [](const PyChildSheet& self) { return self.sheet().take(); })
      .def("take_detail", [](const PyChildSheet& self) { return self.sheet().take_detail(); })
      .def(
          "add",
          [](const PyChildSheet& self, size_t row, const std::string& cell, int64_t value) {
            self.sheet().add(row, PyChildSheet::cell(cell), value);
          },
          py::arg("row"), py::arg("cell"), py::arg("value"))
      .def(
          "set",
          [](const PyChildSheet& self, size_t row, const std::string& cell, int64_t value) {
            self.sheet().set(row, PyChildSheet::cell(cell), value);
          },
          py::arg("row"), py::arg("cell"), py::arg("value"))
      .def(
          "set_name",
          [](const PyChildSheet& self, size_t row, const std::string& name) {
            self.sheet().set_name(row, name);
          },
          py::arg("row"), py::arg("name"))
      .def("timed", &PyChildSheet::timed, py::arg("function"), py::arg("row"), py::arg("time"),
           py::arg("calls") = py::none(), py::arg("first") = py::none(),
           py::arg("free") = py::none(), py::arg("most_free") = int64_t{-1});
}

}  // namespace perfprobe
