// What torch's allocator for GPUs holds, for the collector that starts and stops the readings.
#include <unistd.h>

#include <pybind11/pybind11.h>

#include "bindings/recorder_door.h"
#include "core/device_memory_log.h"

namespace py = pybind11;

namespace perfprobe {
namespace {

// Never deleted: the writer may still call it.
class PyDeviceMemoryLog {
 public:
  explicit PyDeviceMemoryLog(const py::capsule& recorder)
      : log_(*new DeviceMemoryLog(recorder_in(recorder))), process_(::getpid()) {}

  void start() { log_.start(); }
  // Returns the number of readings.
  int64_t stop() {
    const py::gil_scoped_release release;
    if (process_ == ::getpid())
      log_.stop();
    return log_.readings();
  }
  py::capsule capsule() {
    return py::capsule(static_cast<DeviceMemoryPort*>(&log_), kDeviceMemoryCapsule);
  }

 private:
  DeviceMemoryLog& log_;
  const pid_t process_;
};

}  // namespace

void bind_device_memory(py::module_& module) {
  py::class_<PyDeviceMemoryLog>(module, "DeviceMemoryLog")
      .def(py::init<py::capsule>(), py::arg("recorder"))
      .def("start", &PyDeviceMemoryLog::start)
      .def("stop", &PyDeviceMemoryLog::stop)
      .def("capsule", &PyDeviceMemoryLog::capsule);
}

}  // namespace perfprobe
