#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings/recorder_door.h"
#include "core/clock.h"
#include "core/native_stack.h"
#include "python/frames.h"
#include "python/held_signals.h"
#include "python/profile_hook.h"

namespace py = pybind11;

namespace perfprobe {
namespace {

// The Python object. The door itself is never destroyed: threads that outlive the recording may
// still use one of its chunks.
class PyRecorder {
 public:
  PyRecorder(const std::string& path, size_t buffer_bytes, int64_t flush_ns)
      : path_(path), door_(new RecorderDoor(path, buffer_bytes, flush_ns)), process_(::getpid()) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  // A forked child has neither the writer thread nor usable locks, so there it may only be read.
  [[nodiscard]] bool is_ours() const { return process_ == ::getpid(); }
  [[nodiscard]] Recorder& recorder() const { return door_->recorder(); }

  template <class Change>
  auto define(Change change) const {
    return recorder().define(change);
  }

  py::capsule capsule() { return py::capsule(static_cast<RecorderPort*>(door_), kRecorderCapsule); }

  void set_folders(const std::vector<std::pair<std::string, bool>>& folders) {
    door_->names().users().set_folders(folders);
  }
  void hash_lines(const std::vector<std::pair<std::string, bool>>& folders) {
    if (is_ours())
      recorder().hash_lines(folders);
  }
  void add_meta(const std::string& key, const std::string& value) {
    if (is_ours())
      recorder().add_meta(key, value);
  }
  void add_loss(const std::string& source, const std::string& reason, int64_t count,
                const std::string& remedy) {
    if (is_ours())
      recorder().add_loss({source, reason, count, remedy});
  }
  void rotate_at(int64_t size_bytes) {
    const py::gil_scoped_release release;
    recorder().rotate_at(size_bytes);
  }
  // Releases the GIL: the writer may wait for a thread that needs it.
  void pause() {
    if (::syscall(SYS_gettid) == ::getpid())
      depth_in_hook_ = python_depth();  // of the main thread, where pending calls run
    const py::gil_scoped_release release;
    if (is_ours())
      recorder().pause();
  }
  // Restarts the writer after a fork. Python 3.13 counts the threads after all fork hooks have run,
  // so the writer only restarts when the main thread runs bytecode of the frame that forked or of
  // an outer one. Before 3.12 nothing counts them, and there a profiled function would never get
  // past pending calls that add another one.
  void resume() {
    if (!is_ours())
      return;
    const bool forked_on_main_thread = ::syscall(SYS_gettid) == ::getpid();
    const bool waits = PY_VERSION_HEX >= 0x030C0000 && forked_on_main_thread;
    if (!waits || Py_AddPendingCall(&PyRecorder::resume_pending, this) != 0)
      recorder().resume();
  }
  static int resume_pending(void* recorder) {
    auto* self = static_cast<PyRecorder*>(recorder);
    if (!self->is_ours())
      return 0;  // requested in the parent; a fork on another thread copied it here
    const bool in_hook = python_depth() >= self->depth_in_hook_;
    if (!in_hook || Py_AddPendingCall(&PyRecorder::resume_pending, recorder) != 0)
      self->recorder().resume();
    return 0;
  }
  // Adds rows that a collector made in Python. A column is an int64 buffer; its name ends in its
  // unit.
  void add_rows(const std::string& table, const py::dict& columns) {
    if (!is_ours())
      return;
    std::vector<std::string> names;
    std::vector<py::buffer_info> buffers;
    for (const auto& [name, values] : columns) {
      names.push_back(name.cast<std::string>());
      buffers.push_back(values.cast<py::buffer>().request());
      const py::buffer_info& buffer = buffers.back();
      const bool fits = buffer.ndim == 1 && buffer.item_type_is_equivalent_to<int64_t>() &&
                        buffer.strides[0] == sizeof(int64_t) &&
                        buffer.size == buffers.front().size && buffer.size > 0;
      if (!fits)
        throw py::value_error("column " + names.back() + " of " + table +
                              " is not of int64, or not as long as the first");
    }
    if (names.empty())
      throw py::value_error(table + " has no columns");
    std::vector<ColumnView> views;
    for (size_t i = 0; i < names.size(); ++i) {
      views.push_back(
          {names[i],
           {static_cast<const int64_t*>(buffers[i].ptr), static_cast<size_t>(buffers[i].size)}});
    }
    const py::gil_scoped_release release;
    recorder().add_rows(table, views);
  }
  // Calls `callback` on the main thread between two bytecodes, no sooner than `delay_ns` from now.
  // If it returns a callable, calls that too. No profile or trace function sees the first call.
  // The second call is for native code that sets such a function, which then sees only the
  // program's frames. Errors of the second call are ignored.
  void call_later(int64_t delay_ns, py::object callback) {
    if (!is_ours())
      return;
    callback_ = std::move(callback);
    recorder().set_alarm(monotonic_ns() + delay_ns, &PyRecorder::ring, this);
  }
  static void ring(void* recorder) {
    auto* self = static_cast<PyRecorder*>(recorder);
    if (Py_AddPendingCall(&PyRecorder::call_pending, recorder) != 0)  // their list is full
      self->recorder().set_alarm(monotonic_ns() + kRetryNs, &PyRecorder::ring, recorder);
  }
  // With a profile or trace function set, Python 3.11 runs pending calls before it enters a
  // function, until none is left. A call that another thread has added would wait for this one to
  // end, and this one for that. So no profile or trace function is active while perfprobe's Python
  // code runs.
  static int call_pending(void* recorder) {
    auto* self = static_cast<PyRecorder*>(recorder);
    if (!self->is_ours() || !self->callback_)
      return 0;
    if (HeldSignals::are_held()) {  // other code of ours runs, which must not be interrupted
      self->recorder().set_alarm(monotonic_ns() + kRetryNs, &PyRecorder::ring, recorder);
      return 0;
    }
    if (enters_again()) {
      self->recorder().set_alarm(monotonic_ns(), &PyRecorder::ring, recorder);
      return 0;
    }
    const py::object callback = std::move(self->callback_);
    PyObject* next = nullptr;
    {
      const HeldTracing held;  // first, as holding signals may run a handler of the program
      const HeldSignals held_signals;
      next = PyObject_CallNoArgs(callback.ptr());
    }
    if (next == nullptr)
      return -1;
    if (PyCallable_Check(next) != 0) {
      PyObject* result = PyObject_CallNoArgs(next);
      if (result == nullptr)
        PyErr_Clear();
      Py_XDECREF(result);
    }
    Py_DECREF(next);
    return 0;
  }
  void close() {
    if (!is_ours())
      return;
    callback_ = py::object();
    {
      // Releases the GIL: the writer may wait for an operator whose thread needs it.
      const py::gil_scoped_release release;
      door_->close();
    }
    door_->names().release();
  }

 private:
  static constexpr int64_t kRetryNs = 1'000'000;

  static size_t python_depth() {
    FrameList frames;
    read_frames_public(PyThreadState_Get(), nullptr, frames);
    return frames.size();
  }

  std::string path_;
  size_t depth_in_hook_ = 0;
  py::object callback_;
  RecorderDoor* door_;
  pid_t process_;
};

PyRecorder* make_recorder(const std::string& path, size_t buffer_bytes, int64_t flush_ns,
                          bool in_ns) {
  ticks_are_tsc = !in_ns && kernel_trusts_tsc();  // only one recording runs at a time
  try {
    return new PyRecorder(path, buffer_bytes, flush_ns);
  } catch (const std::system_error& error) {
    errno = error.code().value();
  }
  PyErr_SetFromErrnoWithFilename(PyExc_OSError, path.c_str());
  throw py::error_already_set();
}

int32_t add_signature(const PyRecorder& self, const std::string& text,
                      const std::optional<std::string>& example, int32_t name, int32_t overload) {
  Hasher hasher;
  hasher.add(static_cast<uint64_t>(name), static_cast<uint64_t>(overload));
  for (const char letter : text + '\0' + example.value_or(""))
    hasher.add(static_cast<unsigned char>(letter), 0);
  return self.define([&](Definitions& to) {
    return to.add_signature(hasher.result(), {text.c_str(), example ? example->c_str() : nullptr,
                                              nullptr, 0, name, overload});
  });
}

// Binds the definition tables for rows made in Python: each function returns the id of a row and
// adds the row on first sight.
void bind_definitions(py::class_<PyRecorder, std::unique_ptr<PyRecorder, py::nodelete>>& recorder) {
  using Id = int32_t;
  recorder
      .def(
          "intern_name",
          [](const PyRecorder& self, const std::string& name, bool finite) {
            return self.define([&](Definitions& to) { return to.intern_name(name, finite).id; });
          },
          py::arg("name"), py::arg("finite"))
      .def("add_signature", &add_signature, py::arg("text"), py::arg("example"), py::arg("name"),
           py::arg("overload"))
      .def(
          "add_frame",
          [](const PyRecorder& self, Id file, Id function, Id first_line, Id line) {
            const FrameKey row{file, function, first_line, line};
            return self.define([&](Definitions& to) { return to.add_frame(row); });
          },
          py::arg("file"), py::arg("function"), py::arg("first_line"), py::arg("line"))
      .def(
          "add_stack",
          [](const PyRecorder& self, Id parent, Id frame, Id module) {
            return self.define(
                [&](Definitions& to) { return to.add_stack({parent, frame, module, kNone}); });
          },
          py::arg("parent"), py::arg("frame"), py::arg("module"))
      .def(
          "add_module",
          [](const PyRecorder& self, Id parent, Id name, Id type) {
            return self.define([&](Definitions& to) {
              return parent == kNone ? to.add_root_module(type)
                                     : to.add_module({parent, name, type});
            });
          },
          py::arg("parent"), py::arg("name"), py::arg("type"))
      .def(
          "add_thread",
          [](const PyRecorder& self, int64_t os_thread, int64_t forward_id, Id name) {
            const ThreadRow row{os_thread, forward_id, name};
            return self.define([&](Definitions& to) { return to.add_thread(row); });
          },
          py::arg("os_thread"), py::arg("forward_id"), py::arg("name"));
}

// An OSError with the errno and our text.
void translate(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const ThreadRefused& refused) {
    PyErr_SetObject(PyExc_OSError, py::make_tuple(refused.error, refused.what()).ptr());
  }
}

}  // namespace

void bind_recorder(py::module_& module) {
  py::register_local_exception_translator(&translate);
  module.attr("FORMAT_VERSION") = kFormatVersion;
  module.def("monotonic_ns", &monotonic_ns);
  module.def("report_calls", &report_calls);
  module.def("torch_on_stack",
             [] { return library_on_stack({"/libtorch", "/libc10", "/_C.cpython"}); });
  // Never deleted: a pending call may still refer to it.
  py::class_<PyRecorder, std::unique_ptr<PyRecorder, py::nodelete>> recorder(module, "Recorder");
  recorder
      .def(py::init(&make_recorder), py::arg("path"), py::arg("buffer_bytes") = size_t{32} << 20,
           py::arg("flush_ns") = int64_t{500'000'000}, py::arg("in_ns") = false)
      .def_property_readonly("path", &PyRecorder::path)
      .def_property_readonly("operator_rows",
                             [](const PyRecorder& self) { return self.recorder().operator_rows(); })
      .def_property_readonly("dropped_rows",
                             [](const PyRecorder& self) { return self.recorder().dropped_rows(); })
      .def_property_readonly("writer_cpu_ns",
                             [](const PyRecorder& self) { return self.recorder().writer_cpu_ns(); })
      .def_property_readonly("written_bytes",
                             [](const PyRecorder& self) { return self.recorder().written_bytes(); })
      .def_property_readonly("watched_rows",
                             [](const PyRecorder& self) { return self.recorder().watched_rows(); })
      .def("rotate_at", &PyRecorder::rotate_at, py::arg("size_bytes"))
      .def("capsule", &PyRecorder::capsule)
      .def("set_folders", &PyRecorder::set_folders, py::arg("folders"))
      .def("hash_lines", &PyRecorder::hash_lines, py::arg("folders"))
      .def("add_meta", &PyRecorder::add_meta, py::arg("key"), py::arg("value"))
      .def("add_loss", &PyRecorder::add_loss, py::arg("source"), py::arg("reason"),
           py::arg("count"), py::arg("remedy"))
      .def("add_rows", &PyRecorder::add_rows, py::arg("table"), py::arg("columns"))
      .def("call_later", &PyRecorder::call_later, py::arg("delay_ns"), py::arg("callback"))
      .def("pause", &PyRecorder::pause)
      .def("resume", &PyRecorder::resume)
      .def("close", &PyRecorder::close);
  bind_definitions(recorder);
}

}  // namespace perfprobe
