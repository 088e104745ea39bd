#include <cerrno>
#include <memory>
#include <string>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

#include <pybind11/pybind11.h>

#include "bindings/recorder_door.h"
#include "core/clock.h"
#include "python/frames.h"

namespace py = pybind11;

namespace perfprobe {
namespace {

// What Python holds. The door itself is never destroyed: threads that outlive the recording may
// still hold a chunk of it.
class PyRecorder {
 public:
  PyRecorder(const std::string& path, size_t buffer_bytes, int64_t flush_ns)
      : path_(path), door_(new RecorderDoor(path, buffer_bytes, flush_ns)), process_(::getpid()) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  // The writer thread and the state of the locks did not survive a fork: the child may only look
  // on.
  [[nodiscard]] bool is_ours() const { return process_ == ::getpid(); }
  [[nodiscard]] Recorder& recorder() const { return door_->recorder(); }

  py::capsule capsule() { return py::capsule(static_cast<RecorderPort*>(door_), kRecorderCapsule); }

  void add_meta(const std::string& key, const std::string& value) {
    if (is_ours())
      recorder().add_meta(key, value);
  }
  void add_loss(const std::string& source, const std::string& reason, int64_t count,
                const std::string& remedy) {
    if (is_ours())
      recorder().add_loss({source, reason, count, remedy});
  }
  // The writer needs no GIL, but other threads may need it to let the writer end.
  void pause() {
    if (::syscall(SYS_gettid) == ::getpid())
      depth_in_hook_ = python_depth();  // of the main thread, where pending calls run
    const py::gil_scoped_release release;
    if (is_ours())
      recorder().pause();
  }
  // Python 3.13 counts threads when all hooks of the fork have run, so the writer comes back when
  // the main thread runs bytecode of the frame that forked, or of one outside it.
  void resume() {
    if (!is_ours())
      return;
    const bool forked_on_main_thread = ::syscall(SYS_gettid) == ::getpid();
    if (!forked_on_main_thread || Py_AddPendingCall(&PyRecorder::resume_pending, this) != 0)
      recorder().resume();
  }
  static int resume_pending(void* recorder) {
    auto* self = static_cast<PyRecorder*>(recorder);
    if (!self->is_ours())
      return 0;  // asked for in the parent; a fork on another thread copied it here
    const bool in_hook = python_depth() >= self->depth_in_hook_;
    if (!in_hook || Py_AddPendingCall(&PyRecorder::resume_pending, recorder) != 0)
      self->recorder().resume();
    return 0;
  }
  void close() {
    if (!is_ours())
      return;
    {
      // The writer needs no GIL, but other threads may need it to reach the end of an operator.
      const py::gil_scoped_release release;
      recorder().close();
    }
    door_->names().release();
  }

 private:
  static size_t python_depth() {
    FrameList frames;
    read_frames_public(PyThreadState_Get(), nullptr, frames);
    return frames.size();
  }

  std::string path_;
  size_t depth_in_hook_ = 0;
  RecorderDoor* door_;
  pid_t process_;
};

PyRecorder* make_recorder(const std::string& path, size_t buffer_bytes, int64_t flush_ns) {
  try {
    return new PyRecorder(path, buffer_bytes, flush_ns);
  } catch (const std::system_error& error) {
    errno = error.code().value();
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
  }
  PyErr_SetFromErrnoWithFilename(PyExc_OSError, path.c_str());
  throw py::error_already_set();
}

}  // namespace

void bind_recorder(py::module_& module) {
  module.attr("FORMAT_VERSION") = kFormatVersion;
  module.def("monotonic_ns", &monotonic_ns);
  // Never deleted: a pending call may still refer to it.
  py::class_<PyRecorder, std::unique_ptr<PyRecorder, py::nodelete>>(module, "Recorder")
      .def(py::init(&make_recorder), py::arg("path"), py::arg("buffer_bytes") = size_t{32} << 20,
           py::arg("flush_ns") = int64_t{500'000'000})
      .def_property_readonly("path", &PyRecorder::path)
      .def_property_readonly("operator_rows",
                             [](const PyRecorder& self) { return self.recorder().operator_rows(); })
      .def_property_readonly("dropped_rows",
                             [](const PyRecorder& self) { return self.recorder().dropped_rows(); })
      .def_property_readonly("writer_cpu_ns",
                             [](const PyRecorder& self) { return self.recorder().writer_cpu_ns(); })
      .def_property_readonly("written_bytes",
                             [](const PyRecorder& self) { return self.recorder().written_bytes(); })
      .def("capsule", &PyRecorder::capsule)
      .def("add_meta", &PyRecorder::add_meta, py::arg("key"), py::arg("value"))
      .def("add_loss", &PyRecorder::add_loss, py::arg("source"), py::arg("reason"),
           py::arg("count"), py::arg("remedy"))
      .def("pause", &PyRecorder::pause)
      .def("resume", &PyRecorder::resume)
      .def("close", &PyRecorder::close);
}

}  // namespace perfprobe
