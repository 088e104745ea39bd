// Binds the decoder of events for perfprobe/read/kineto.
#include <optional>
#include <string_view>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "read/event_columns.h"

namespace py = pybind11;

namespace perfprobe {
namespace {

// (columns, texts): each column as bytes of int64. None if the list is not decoded.
py::object event_columns(const py::bytes& list, const EventKeys& keys) {
  EventColumns found(keys);
  const auto text = static_cast<std::string_view>(list);
  bool is_decoded = false;
  {
    const py::gil_scoped_release release;
    is_decoded = found.decode(text);
  }
  if (!is_decoded)
    return py::none();
  py::list columns;
  for (const auto& column : found.columns())
    columns.append(
        py::bytes(reinterpret_cast<const char*>(column.data()), column.size() * sizeof(column[0])));
  py::list texts;
  for (const std::string_view each : found.texts())
    texts.append(py::bytes(each.data(), each.size()));
  return py::make_tuple(columns, texts);
}

}  // namespace

void bind_read(py::module_& module) {
  py::class_<EventKeys>(module, "EventKeys")
      .def(py::init([](std::vector<std::string> times, std::vector<std::string> event,
                       std::vector<std::string> args) {
             return EventKeys{std::move(times), std::move(event), std::move(args)};
           }),
           py::arg("times"), py::arg("event"), py::arg("args"));
  module.def("event_columns", &event_columns, py::arg("list"), py::arg("keys"));
}

}  // namespace perfprobe
