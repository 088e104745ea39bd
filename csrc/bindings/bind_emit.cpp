// Where ranges go that perfprobe sets for other tools.
#include <string>

#include <pybind11/pybind11.h>

#include "core/range_sink.h"
#include "gpu/itt_ranges.h"
#include "gpu/nvtx_ranges.h"

namespace py = pybind11;

namespace perfprobe {
namespace {

constexpr RangeSink kNvtxSink{nvtx::message, [](const void* message) { nvtx::push(message); },
                              nvtx::pop, nvtx::start, nvtx::end};
constexpr RangeSink kIttSink{itt::message, [](const void* message) { itt::push(message); },
                             itt::pop, itt::start, itt::end};

py::capsule range_sink(const std::string& kind) {
  return py::capsule(kind == "itt" ? &kIttSink : &kNvtxSink, kRangeSinkCapsule);
}

const char* range_sink_lack(const std::string& kind) {
  return kind == "itt" ? itt::lack() : nvtx::lack();
}

}  // namespace

void bind_emit(py::module_& module) {
  module.def("range_sink", &range_sink, py::arg("kind"));
  module.def("range_sink_lack", &range_sink_lack, py::arg("kind"));
}

}  // namespace perfprobe
