// Binds samples of the instruction address by the kernel's perf.
#include <unistd.h>

#include <pybind11/pybind11.h>

#include "bindings/recorder_door.h"
#include "cpu/perf/instruction_samples.h"
#include "cpu/perf/perf_counters.h"

namespace py = pybind11;

namespace perfprobe {
namespace {

py::object named(const Refusal& refusal) {
  return py::make_tuple(refusal.reason, refusal.remedy);
}

// Never deleted: the writer may still call it.
class PyInstructionSamples {
 public:
  PyInstructionSamples(const py::capsule& recorder, int64_t period_ns)
      : samples_(*new InstructionSamples(recorder_in(recorder), period_ns)), process_(::getpid()) {}

  // Returns None, or why the kernel refuses it and what would allow it.
  py::object start() {
    try {
      const py::gil_scoped_release release;
      samples_.start();
    } catch (const RefusedEvent& refused) {
      return named(refused.refusal);
    }
    return py::none();
  }
  py::dict stop() {
    if (process_ == ::getpid()) {
      const py::gil_scoped_release release;
      samples_.stop();
    }
    const InstructionFigures figures = samples_.figures();
    py::dict found;
    found["period_ns"] = figures.period_ns;
    found["samples"] = figures.samples;
    found["lost"] = figures.lost;
    found["every"] = figures.every;
    found["functions"] = figures.functions;
    found["other_functions"] = figures.others;
    found["cpu_ns"] = figures.cpu_ns;
    found["with_kernel"] = figures.with_kernel;
    found["times_closed"] = figures.times_closed;
    found["ended"] = figures.ended;
    found["started_ns"] = figures.started_ns;
    found["stopped_ns"] = figures.stopped_ns;
    return found;
  }

 private:
  InstructionSamples& samples_;
  const pid_t process_;
};

// Never deleted: the writer may still call it.
class PyPerfCounters {
 public:
  PyPerfCounters(const py::capsule& recorder, int64_t interval_ns, const std::string& root)
      : counters_(*new PerfCounters(recorder_in(recorder), interval_ns, root)),
        process_(::getpid()) {}

  void start() {
    const py::gil_scoped_release release;
    counters_.start();
  }
  py::dict stop() {
    if (process_ == ::getpid()) {
      const py::gil_scoped_release release;
      counters_.stop();
    }
    const CounterFigures figures = counters_.figures();
    py::dict found;
    found["interval_ns"] = figures.interval_ns;
    found["readings"] = figures.readings;
    found["threads"] = figures.threads;
    found["unread_threads"] = figures.unread_threads;
    found["times_closed"] = figures.times_closed;
    found["cpu_ns"] = figures.cpu_ns;
    return found;
  }
  // Returns why memory bandwidth is not read; None if it is.
  py::object traffic_refused() const {
    const Refusal& refusal = counters_.traffic_refused();
    return refusal.reason.empty() ? py::none() : named(refusal);
  }

 private:
  PerfCounters& counters_;
  const pid_t process_;
};

// Returns for each event its name, whether it is counted outside of the kernel only, and why it is
// not counted: None if it is.
py::list counter_events_allowed() {
  py::list found;
  const auto allowed = allowed_events();
  for (size_t i = 0; i < kCounterEvents; ++i)
    found.append(
        py::make_tuple(counter_events()[i].name, allowed[i].is_user_only,
                       allowed[i].is_allowed ? py::object(py::none()) : named(allowed[i].refusal)));
  return found;
}

// Returns None, or why the bytes that the memory controllers move cannot be counted.
py::object memory_traffic_refused() {
  try {
    MemoryTraffic traffic;
    traffic.start();
  } catch (const RefusedEvent& refused) {
    return named(refused.refusal);
  }
  return py::none();
}

// Returns None, or why the instruction address cannot be sampled and what would allow it.
py::object instruction_samples_refused() {
  try {
    InstructionSamples::try_out();
  } catch (const RefusedEvent& refused) {
    return named(refused.refusal);
  }
  return py::none();
}

}  // namespace

void bind_perf(py::module_& module) {
  module.def("instruction_samples_refused", &instruction_samples_refused);
  module.def("counter_events_allowed", &counter_events_allowed);
  module.def("memory_traffic_refused", &memory_traffic_refused);
  py::class_<PyPerfCounters>(module, "PerfCounters")
      .def(py::init<py::capsule, int64_t, std::string>(), py::arg("recorder"),
           py::arg("interval_ns"), py::arg("root"))
      .def("start", &PyPerfCounters::start)
      .def("stop", &PyPerfCounters::stop)
      .def("traffic_refused", &PyPerfCounters::traffic_refused);
  py::class_<PyInstructionSamples>(module, "InstructionSamples")
      .def(py::init<py::capsule, int64_t>(), py::arg("recorder"), py::arg("period_ns"))
      .def("start", &PyInstructionSamples::start)
      .def("stop", &PyInstructionSamples::stop);
}

}  // namespace perfprobe
