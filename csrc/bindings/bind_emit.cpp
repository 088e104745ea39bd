// Chooses the tool that perfprobe emits ranges to.
#include <string>

#include <pybind11/pybind11.h>

#include "core/emission_port.h"
#include "gpu/itt_ranges.h"
#include "gpu/nvtx_ranges.h"

namespace py = pybind11;

namespace perfprobe {
namespace {

constexpr EmissionPort kNvtxPort{nvtx::message, [](const void* message) { nvtx::push(message); },
                                 nvtx::pop, nvtx::start, nvtx::end};
constexpr EmissionPort kIttPort{itt::message, [](const void* message) { itt::push(message); },
                                itt::pop, itt::start, itt::end};

py::capsule emission_port(const std::string& kind) {
  return py::capsule(kind == "itt" ? &kIttPort : &kNvtxPort, kEmissionCapsule);
}

}  // namespace

void bind_emit(py::module_& module) {
  module.def("emission_port", &emission_port, py::arg("kind"));
}

}  // namespace perfprobe
