// Binds the reader of thread times for the collector that starts and stops it.
#include <string>
#include <unistd.h>

#include <pybind11/pybind11.h>

#include "bindings/recorder_door.h"
#include "core/thread_times.h"

namespace py = pybind11;

namespace perfprobe {
namespace {

// Never deleted: the writer may still call it.
class PyThreadTimes {
 public:
  PyThreadTimes(const py::capsule& recorder, const std::string& root, const std::string& cpu_stat)
      : times_(*new ThreadTimes(recorder_in(recorder), root, cpu_stat)), process_(::getpid()) {}

  void start() {
    const py::gil_scoped_release release;
    times_.start();
  }
  py::dict stop() {
    if (process_ == ::getpid()) {
      const py::gil_scoped_release release;
      times_.stop();
    }
    py::dict named;
    named["readings"] = times_.readings();
    named["cpu_ns"] = times_.cpu_ns();
    return named;
  }

 private:
  ThreadTimes& times_;
  const pid_t process_;
};

}  // namespace

void bind_thread_times(py::module_& module) {
  py::class_<PyThreadTimes>(module, "ThreadTimes")
      .def(py::init<py::capsule, std::string, std::string>(), py::arg("recorder"), py::arg("root"),
           py::arg("cpu_stat"))
      .def("start", &PyThreadTimes::start)
      .def("stop", &PyThreadTimes::stop);
}

}  // namespace perfprobe
