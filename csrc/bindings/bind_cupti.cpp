// The decoding of CUPTI's buffers, for tests: with buffers of their own and any library's iterator.
#include <cstdint>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings/gpu_dicts.h"
#include "bindings/recorder_door.h"

namespace py = pybind11;

namespace perfprobe {
namespace {

// The functions of libcupti by their addresses.
py::dict decode_cupti(const py::capsule& recorder, uintptr_t next_record, uintptr_t callback_name,
                      const std::vector<py::buffer>& buffers) {
  auto* port = static_cast<RecorderPort*>(PyCapsule_GetPointer(recorder.ptr(), kRecorderCapsule));
  if (port == nullptr)
    throw py::error_already_set();
  GpuTotals totals;
  GpuRows rows(static_cast<RecorderDoor*>(port)->recorder(),
               reinterpret_cast<NextRecord>(next_record),
               reinterpret_cast<CallbackName>(callback_name), totals);
  for (const py::buffer& buffer : buffers) {
    const py::buffer_info bytes = buffer.request(true);
    rows.take(static_cast<uint8_t*>(bytes.ptr), static_cast<size_t>(bytes.size * bytes.itemsize));
  }
  rows.write();
  py::dict named;
  describe(rows.figures(), named);
  describe(totals.read(), named);
  return named;
}

}  // namespace

void bind_cupti(py::module_& module) {
  module.def("decode_cupti", &decode_cupti, py::arg("recorder"), py::arg("next_record"),
             py::arg("callback_name"), py::arg("buffers"));
}

}  // namespace perfprobe
