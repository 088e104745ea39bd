// Binds decoders: of events for perfprobe/read/kineto, of integers for perfprobe/tables.
#include <optional>
#include <string_view>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "read/event_columns.h"
#include "read/varints.h"

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

// The integers as bytes of 64 bits each.
py::bytes varints(const py::buffer& data, bool zigzag) {
  const py::buffer_info info = data.request();
  const auto* const bytes = static_cast<const uint8_t*>(info.ptr);
  const auto size_bytes = static_cast<size_t>(info.size * info.itemsize);
  const size_t room_bytes = count_varints(bytes, size_bytes) * sizeof(uint64_t);
  const auto found = py::reinterpret_steal<py::bytes>(
      PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(room_bytes)));
  if (!found)
    throw py::error_already_set();
  auto* const out = reinterpret_cast<uint64_t*>(PyBytes_AS_STRING(found.ptr()));
  switch (decode_varints(bytes, size_bytes, zigzag, out)) {
    case VarintFault::cut:
      throw py::value_error("an integer is cut off");
    case VarintFault::too_long:
      throw py::value_error("an integer has more than 64 bits");
    case VarintFault::none:
      break;
  }
  return found;
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
  module.def("varints", &varints, py::arg("data"), py::arg("zigzag"));
}

}  // namespace perfprobe
