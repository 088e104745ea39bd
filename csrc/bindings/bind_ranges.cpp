// Binds named ranges: of the program's libraries, and of perfprobe itself.
#include <dlfcn.h>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings/range_type.h"
#include "bindings/recorder_door.h"
#include "core/clock.h"
#include "core/watching.h"
#include "gpu/itt_ranges.h"
#include "gpu/nvtx_ranges.h"
#include "gpu/own_ranges.h"
#include "gpu/range_log.h"

namespace py = pybind11;

namespace perfprobe {
namespace {

class PyRangeLog {
 public:
  PyRangeLog(const py::capsule& recorder, const std::string& injection)
      : recorder_(recorder_in(recorder)), process_(::getpid()) {
    if (!injection.empty())
      connect(injection);
  }

  void start() { RangeLog::instance().begin(recorder_); }

  // Releases the GIL: the writer that it waits for may wait for a thread that needs it.
  py::dict stop() {
    py::dict named;
    if (process_ != ::getpid())
      return named;
    RangeFigures figures;
    {
      const py::gil_scoped_release release;
      figures = RangeLog::instance().end();
    }
    named["nvtx_rows"] = figures.rows[0];
    named["itt_rows"] = figures.rows[1];
    named["perfprobe_rows"] = figures.rows[2];
    named["python_rows"] = figures.rows[3];
    named["open"] = figures.open;
    named["unmatched"] = figures.unmatched;
    named["too_many"] = figures.too_many;
    named["beyond"] = figures.beyond;
    named["lost"] = figures.lost;
    named["other"] = figures.other;
    return named;
  }

  static std::vector<std::pair<std::string, std::string>> clients() {
    std::vector<std::pair<std::string, std::string>> named;
    for (const RangeClient& client : RangeLog::instance().clients())
      named.emplace_back(client.source == RangeSource::nvtx ? "nvtx" : "itt", client.file);
    return named;
  }

 private:
  // The library stays loaded. NVTX and ITT then find this copy, which is connected to the recorder.
  static void connect(const std::string& injection) {
    void* library = ::dlopen(injection.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* entry = library == nullptr ? nullptr : ::dlsym(library, kConnect);
    if (entry == nullptr) {
      PyErr_SetString(PyExc_OSError, ::dlerror());
      throw py::error_already_set();
    }
    reinterpret_cast<ConnectSink>(entry)(&RangeLog::sink());
  }

  Recorder& recorder_;
  pid_t process_;
};

// Python's garbage collector calls this before and after each run with ("start" or "stop",
// figures). It is a C function, so there is no frame and no profile function sees it. Collections
// of less than kShortNs make no range; their time stays with the code that was interrupted.
PyObject* garbage_collected(PyObject* /*self*/, PyObject* const* arguments, Py_ssize_t count) {
  constexpr int64_t kShortNs = 50'000;
  thread_local int64_t began_ns = 0;
  if (count < 1 || !PyUnicode_Check(arguments[0]))
    Py_RETURN_NONE;
  if (PyUnicode_CompareWithASCIIString(arguments[0], "start") == 0) {
    began_ns = monotonic_ns();
  } else if (began_ns != 0) {
    const int64_t took_ns = monotonic_ns() - began_ns;
    collected_ns += took_ns;
    if (took_ns > kShortNs && is_watching && RangeLog::is_recording())
      RangeLog::instance().put_passed("garbage collection", began_ns);
  }
  Py_RETURN_NONE;
}

py::object garbage_callback() {
  static PyMethodDef method = {
      "garbage_collected",
      reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(garbage_collected)), METH_FASTCALL,
      "garbage_collected(phase: str, figures: dict) -> None"};
  PyObject* made = PyCFunction_New(&method, nullptr);
  if (made == nullptr)
    throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}

py::object text_or_none(const char* text) {
  return text == nullptr ? py::object(py::none()) : py::str(text);
}

}  // namespace

void bind_ranges(py::module_& module) {
  py::class_<PyRangeLog>(module, "RangeLog")
      .def(py::init<py::capsule, std::string>(), py::arg("recorder"), py::arg("injection"))
      .def("start", &PyRangeLog::start)
      .def("stop", &PyRangeLog::stop)
      .def_property_readonly("clients",
                             [](const PyRangeLog& /*self*/) { return PyRangeLog::clients(); });
  PyObject* type = make_range_type();
  if (type == nullptr)
    throw py::error_already_set();
  module.attr("range") = py::reinterpret_steal<py::object>(type);
  module.def(
      "range_begin", [](const py::str& name) { return begin_range(name.ptr()); }, py::arg("name"));
  module.def("range_end", &own_ranges::end, py::arg("token"));
  module.attr("garbage_collected") = garbage_callback();
  module.def("nvtx_missing", [] { return text_or_none(nvtx::missing()); });
  module.def("itt_missing", [] { return text_or_none(itt::missing()); });
}

}  // namespace perfprobe
