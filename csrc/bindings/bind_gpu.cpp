// Binds the GPU recording.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings/gpu_dicts.h"
#include "bindings/recorder_door.h"
#include "gpu/bounded_call.h"
#include "gpu/cupti_faults.h"
#include "gpu/gpu_recording.h"

namespace py = pybind11;

namespace perfprobe {
namespace {

py::object number(int64_t value) {
  return value < 0 ? py::object(py::none()) : py::int_(value);
}

py::dict describe(const GpuDevice& device) {
  py::dict named;
  named["name"] = device.name;
  named["memory_bytes"] = number(device.memory_bytes);
  named["compute_major"] = number(device.compute_major);
  named["compute_minor"] = number(device.compute_minor);
  named["multiprocessors"] = number(device.multiprocessors);
  named["multiprocessor_threads"] = number(device.multiprocessor_threads);
  named["clock_khz"] = number(device.clock_khz);
  named["memory_clock_khz"] = number(device.memory_clock_khz);
  named["memory_bus_bits"] = number(device.memory_bus_bits);
  named["l2_bytes"] = number(device.l2_bytes);
  return named;
}

py::object describe(const std::optional<CuptiFault>& fault) {
  if (!fault)
    return py::none();
  return py::make_tuple(fault->reason, fault->remedy);
}

py::dict describe(const GpuFigures& figures) {
  py::dict named;
  describe(figures.rows, named);
  named["dropped_records"] = figures.dropped_records;
  named["requested_buffers"] = figures.buffers.requested;
  named["completed_buffers"] = figures.buffers.completed;
  named["refused_buffers"] = figures.buffers.refused;
  named["lent_buffers"] = figures.buffers.lent();
  named["foreign_buffers"] = figures.buffers.foreign;
  named["most_buffers"] = figures.buffers.most_used;
  named["flushes"] = figures.flushes;
  named["cpu_ns"] = figures.cpu_ns;
  named["started_ns"] = figures.started_ns;
  named["stopped_ns"] = figures.stopped_ns;
  named["canary"] = figures.is_canary_seen;
  named["context"] = figures.had_context;
  named["broken"] = figures.is_broken;
  named["unresumed"] = figures.unresumed;
  named["unfinished"] = figures.is_unfinished;
  named["states"] = figures.states.readings;
  named["refused_states"] = figures.states.refused;
  named["slow_states"] = figures.states.slow;
  named["longest_states_ns"] = figures.states.longest_ns;
  named["state_lack"] = describe(figures.states.lack);
  return named;
}

// Returns the known faults of this CUPTI version: the remedy by name.
py::dict faults_of(uint32_t version) {
  py::dict remedies;
  for (const KnownFault& fault : kKnownFaults) {
    if (version > 0 && fault.is_in(version))
      remedies[py::str(fault.name)] = fault.remedy;
  }
  return remedies;
}

// Whether the work that this process launched has ended within the limit.
bool await_gpus(int64_t limit_ns) {
  auto& driver = *new CudaDriver;  // never deleted: a thread that waits for ever may be left in it
  return driver.open(nullptr) || ends_within([&driver] { driver.await_work(); }, limit_ns);
}

py::list known_faults() {
  py::list all;
  for (const KnownFault& fault : kKnownFaults) {
    py::dict named;
    named["name"] = fault.name;
    named["first"] = fault.first;
    named["fixed"] = fault.fixed;
    named["what"] = fault.what;
    named["answer"] = fault.answer;
    named["remedy"] = fault.remedy;
    all.append(named);
  }
  return all;
}

// The values of `--gpu-graphs`.
GraphDetail detail_of(const std::string& graphs) {
  return graphs == "launch" ? GraphDetail::launches : GraphDetail::nodes;
}

// The Python object. The recording itself is never destroyed.
class PyGpuSession {
 public:
  PyGpuSession(const py::capsule& recorder, int cuda_major, std::vector<std::string> site_packages,
               bool with_ids, const std::string& graphs)
      : process_(::getpid()) {
    recording_ = new GpuRecording(recorder_in(recorder), {cuda_major, std::move(site_packages)},
                                  with_ids, detail_of(graphs));
  }

  py::object start() {
    std::optional<CuptiFault> fault;
    {
      const py::gil_scoped_release release;
      fault = recording_->start();
    }
    return describe(fault);
  }

  // Receives the ids of operators. The recording behind it is never destroyed.
  py::capsule external_ids() {
    return py::capsule(&recording_->external_ids(), kExternalIdsCapsule);
  }

  // Releases the GIL: the recording's thread may wait for a writer that waits for a thread with the
  // GIL.
  py::dict stop() {
    if (process_ == ::getpid()) {
      const py::gil_scoped_release release;
      recording_->stop();
    }
    return describe(recording_->figures());
  }

  py::dict facts() {
    py::list devices;
    for (const GpuDevice& device : recording_->driver().devices())
      devices.append(describe(device));
    py::dict named;
    named["library"] = recording_->library().path;
    named["library_found"] = recording_->library().how;
    const uint32_t version = recording_->session().version();
    named["cupti_version"] = version;
    named["faults"] = faults_of(version);
    named["session"] = recording_->session().number();
    named["driver"] = number(recording_->driver().version());
    named["devices"] = devices;
    named["lacks"] = recording_->session().missing();
    named["clock_refusal"] = recording_->session().clock_refusal();
    return named;
  }

  py::dict totals() {
    py::dict named;
    describe(recording_->totals(), named);
    return named;
  }

 private:
  GpuRecording* recording_;
  pid_t process_;
};

}  // namespace

void bind_gpu(py::module_& module) {
  module.def("is_gpu_driver_assumed", &is_driver_assumed);
  module.def("cupti_faults", &known_faults);
  module.def("await_gpus", &await_gpus, py::arg("limit_ns"),
             py::call_guard<py::gil_scoped_release>());
  py::class_<PyGpuSession>(module, "GpuSession")
      .def(py::init<py::capsule, int, std::vector<std::string>, bool, std::string>(),
           py::arg("recorder"), py::arg("cuda_major"), py::arg("site_packages"),
           py::arg("with_ids"), py::arg("graphs"))
      .def("start", &PyGpuSession::start)
      .def("external_ids", &PyGpuSession::external_ids)
      .def("stop", &PyGpuSession::stop)
      .def("facts", &PyGpuSession::facts)
      .def("totals", &PyGpuSession::totals);
}

}  // namespace perfprobe
