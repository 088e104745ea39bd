// Binds the sampler of Python threads, and parts of it that tests compare with the interpreter.
#include <cstring>
#include <memory_resource>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings/recorder_door.h"
#include "cpu/sampler.h"
#include "python/code_locations.h"
#include "python/frame_layout.h"
#include "python/next_instructions.h"

namespace py = pybind11;

namespace perfprobe {
namespace {

#ifdef PERFPROBE_FOREIGN_FRAMES

// A sampler that was not stopped is never destroyed. Its thread may be waiting for a lock when
// Python ends, and in a forked child its locks may be held for ever.
class PySampler {
 public:
  PySampler(const py::capsule& recorder, int64_t interval_ns, double most_cost, bool of_cpu_time)
      : process_(::getpid()) {
    sampler_ = new Sampler(recorder_in(recorder), interval_ns, most_cost, of_cpu_time);
  }

  void start() { sampler_->start(); }

  // Releases the GIL: the sampler's thread may wait for a writer that waits for a thread with the
  // GIL.
  py::dict stop() {
    if (process_ == ::getpid() && sampler_ != nullptr) {
      const py::gil_scoped_release release;
      sampler_->stop();
      figures_ = sampler_->figures();
      is_broken_ = sampler_->is_broken();
      delete std::exchange(sampler_, nullptr);
    }
    const SamplerFigures& figures = figures_;
    py::dict named;
    named["interval_ns"] = figures.interval_ns;
    named["last_interval_ns"] = figures.last_interval_ns;
    named["ticks"] = figures.ticks;
    named["late_ticks"] = figures.late_ticks;
    named["late_ns"] = figures.late_ns;
    named["failed_ticks"] = figures.failed_ticks;
    named["looks"] = figures.looks;
    named["failed_looks"] = figures.failed_looks;
    named["retries"] = figures.retries;
    named["cut_stacks"] = figures.cut_stacks;
    named["other_stacks"] = figures.other_stacks;
    named["unread_threads"] = figures.unread_threads;
    named["is_lock_known"] = figures.is_lock_known;
    named["cpu_ns"] = figures.cpu_ns;
    named["started_ns"] = figures.started_ns;
    named["stopped_ns"] = figures.stopped_ns;
    named["broken"] = is_broken_;
    return named;
  }

 private:
  Sampler* sampler_;
  SamplerFigures figures_{};
  bool is_broken_ = false;
  pid_t process_;
};

#else

class PySampler {
 public:
  PySampler(const py::capsule& /*recorder*/, int64_t /*interval_ns*/, double /*most_cost*/,
            bool /*of_cpu_time*/) {
    throw std::runtime_error("this Python's frame layout has not been verified");
  }
  void start() {}
  py::dict stop() { return {}; }
};

#endif

// Returns why threads cannot be sampled here; None if they can.
py::object sampler_missing() {
  if (!frames_fit())
    return py::str(frames_misfit());
#ifdef PERFPROBE_FOREIGN_FRAMES
  try {
    const OwnMemory memory;
  } catch (const std::system_error& error) {
    return py::str(std::string("the kernel refuses process_vm_readv and /proc/self/mem (") +
                   std::strerror(error.code().value()) + ")");
  }
  return py::none();
#else
  return py::str("sampling of Python threads is not supported on Python " +
                 std::to_string(PY_MAJOR_VERSION) + "." + std::to_string(PY_MINOR_VERSION));
#endif
}

int32_t line_of(const py::bytes& table, int32_t first_line, int32_t offset) {
  const auto bytes = std::string_view(table);
  return line_of_instruction({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()},
                             first_line, offset);
}

std::vector<int32_t> next_of(const py::bytes& bytecode) {
  const auto bytes = std::string_view(bytecode);
  const auto found =
      next_instructions({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()},
                        std::pmr::get_default_resource());
  return {found.begin(), found.end()};
}

}  // namespace

void bind_sampler(py::module_& module) {
  module.def("sampler_missing", &sampler_missing);
  module.def("line_of_instruction", &line_of, py::arg("table"), py::arg("first_line"),
             py::arg("offset"));
  module.def("next_instructions", &next_of, py::arg("bytecode"));
  py::class_<PySampler>(module, "Sampler")
      .def(py::init<py::capsule, int64_t, double, bool>(), py::arg("recorder"),
           py::arg("interval_ns"), py::arg("most_cost"), py::arg("of_cpu_time") = false)
      .def("start", &PySampler::start)
      .def("stop", &PySampler::stop);
}

}  // namespace perfprobe
