// The steps that are found while the program runs, for the collector that starts and stops it.
#include <tuple>
#include <unistd.h>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings/recorder_door.h"
#include "core/device_memory_log.h"
#include "core/live_steps.h"
#include "core/step_log.h"
#include "core/trigger_socket.h"
#include "python/held_signals.h"

namespace py = pybind11;

namespace perfprobe {
namespace {

StepSchedule schedule_of(const py::dict& given) {
  StepSchedule schedule;
  const auto set = [&given](const char* name, int64_t& to) {
    if (given.contains(name))
      to = given[name].cast<int64_t>();
  };
  set("first", schedule.first);
  set("end", schedule.end);
  set("windows", schedule.windows);
  set("duration_ns", schedule.duration_ns);
  set("baseline", schedule.baseline);
  set("baseline_first", schedule.baseline_first);
  schedule.keeps_slow = given.contains("keeps_slow");
  if (given.contains("most_cost"))
    schedule.most_cost = given["most_cost"].cast<double>();
  return schedule;
}

// Ends the program as sys.exit() would, on its main thread between two bytecodes.
void exit_soon() {
  Py_AddPendingCall(
      [](void* /*argument*/) {
        PyErr_SetNone(PyExc_SystemExit);
        if (!HeldSignals::are_held())
          return -1;
        HeldSignals::raise_later();  // not in our own code, which would end half-way
        return 0;
      },
      nullptr);
}

// Never deleted: the writer may still call it.
class PyStepLog {
 public:
  PyStepLog(const py::capsule& recorder, const py::dict& schedule, int64_t every, int64_t warm_up)
      : log_(*new StepLog(recorder_in(recorder), schedule_of(schedule), every, warm_up)),
        socket_(*new TriggerSocket(recorder_in(recorder), log_)),
        process_(::getpid()) {}

  void start() {
    const py::gil_scoped_release release;
    log_.start();
  }
  void exit_after() { log_.set_end(&exit_soon); }
  // The errno of what failed; else 0.
  int listen(const std::string& path) {
    const py::gil_scoped_release release;
    return socket_.start(path);
  }
  py::dict stop() {
    if (process_ == ::getpid()) {
      const py::gil_scoped_release release;
      socket_.stop();
      log_.stop();
    }
    py::dict named;
    named["steps"] = log_.steps();
    named["recorded"] = log_.recorded();
    named["baseline"] = log_.baseline();
    named["timed"] = log_.timed();
    named["partial"] = log_.partial();
    named["unkept"] = log_.unkept();
    named["unlisted"] = log_.unlisted();
    named["foreign"] = log_.foreign();
    named["requests"] = socket_.requests();
    named["socket_closed"] = socket_.times_closed();
    named["socket_error"] = socket_.error();
    return named;
  }
  py::capsule capsule() { return py::capsule(static_cast<LoopPort*>(&log_), kLoopCapsule); }

 private:
  StepLog& log_;
  TriggerSocket& socket_;
  const pid_t process_;
};

// Moments as tests make them: (event, time_ns, site, samples, has_optimizer, thread).
using Moment = std::tuple<int32_t, int64_t, uint64_t, int64_t, bool, int64_t>;

// Returns for each of these step times whether it is slow compared with those before it.
std::vector<bool> slow_steps(const std::vector<int64_t>& times_ns) {
  SlowSteps slow;
  std::vector<bool> found;
  for (const int64_t time_ns : times_ns)
    found.push_back(slow.is_slow(time_ns));
  return found;
}

std::vector<py::tuple> live_steps(const std::vector<Moment>& moments) {
  LiveSteps steps;
  std::vector<py::tuple> found;
  const auto keep = [&found](const std::vector<LiveStep>& ended) {
    for (const LiveStep& step : ended)
      found.push_back(py::make_tuple(step.number, static_cast<int>(step.source), step.is_evaluation,
                                     step.start_ns, step.end_ns, step.reader_ns, step.batches,
                                     step.samples));
  };
  for (const auto& [event, time_ns, site, samples, has_optimizer, thread] : moments)
    keep(steps.see({.event = static_cast<LoopEvent>(event),
                    .has_optimizer = has_optimizer,
                    .time_ns = time_ns,
                    .os_thread = thread,
                    .site = site,
                    .samples = samples}));
  keep(steps.finish());
  return found;
}

}  // namespace

void bind_step_log(py::module_& module) {
  py::class_<PyStepLog>(module, "StepLog")
      .def(py::init<py::capsule, py::dict, int64_t, int64_t>(), py::arg("recorder"),
           py::arg("schedule"), py::arg("every"), py::arg("warm_up"))
      .def("start", &PyStepLog::start)
      .def("exit_after", &PyStepLog::exit_after)
      .def("listen", &PyStepLog::listen, py::arg("path"))
      .def("stop", &PyStepLog::stop)
      .def("capsule", &PyStepLog::capsule);
  module.def("live_steps", &live_steps, py::arg("moments"));
  module.def("slow_steps", &slow_steps, py::arg("times_ns"));
  module.def("mark_step", [] {
    if (StepLog::is_running())
      StepLog::mark(LoopEvent::mark);
    DeviceMemoryLog::mark();
  });
}

}  // namespace perfprobe
