// Decodes buffers of CUPTI for tests, which bring their own buffers and any library's iterator.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings/gpu_dicts.h"
#include "bindings/recorder_door.h"
#include "gpu/cupti_fixture.h"

namespace py = pybind11;

namespace perfprobe {
namespace {

// Takes the functions of libcupti by their addresses. `fixture`: a file to save the buffers in.
py::dict decode_cupti(const py::capsule& recorder, uintptr_t next_record, uintptr_t callback_name,
                      const std::vector<py::buffer>& buffers,
                      const std::optional<std::string>& fixture) {
  GpuTotals totals;
  const auto next = reinterpret_cast<NextRecord>(next_record);
  const auto name = reinterpret_cast<CallbackName>(callback_name);
  GpuRows rows(recorder_in(recorder), next, name, totals);
  std::optional<CuptiFixtureWriter> writer;
  if (fixture)
    writer.emplace(*fixture, "synthetic", 0, next, name);
  for (const py::buffer& buffer : buffers) {
    const py::buffer_info info = buffer.request(true);
    auto* bytes = static_cast<uint8_t*>(info.ptr);
    const auto count = static_cast<size_t>(info.size * info.itemsize);
    if (writer)
      writer->take(bytes, count);
    rows.take(bytes, count);
  }
  if (writer)
    writer->close(0);
  rows.write();
  py::dict named;
  describe(rows.figures(), named);
  describe(totals.read(), named);
  return named;
}

}  // namespace

void bind_cupti(py::module_& module) {
  module.def("decode_cupti", &decode_cupti, py::arg("recorder"), py::arg("next_record"),
             py::arg("callback_name"), py::arg("buffers"), py::arg("fixture") = py::none());
}

}  // namespace perfprobe
