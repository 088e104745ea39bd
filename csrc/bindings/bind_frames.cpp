#include <string>
#include <string_view>

#include <pybind11/pybind11.h>

#include "bindings/named_frames.h"
#include "python/frames.h"
#include "python/held_signals.h"
#include "python/keep_exception.h"
#include "python/layout_offsets.h"
#include "python/open_calls.h"
#include "python/outermost.h"

namespace py = pybind11;

namespace perfprobe {
namespace {

py::list stack_public() {
  FrameList frames;
  read_frames_public(PyThreadState_Get(), nullptr, frames);
  return named_frames(frames);
}

py::list stack_fast() {
  if (!frames_fit())
    throw std::runtime_error("this Python's frames cannot be read by their layout");
  FrameList frames;
  read_frames_fast(PyThreadState_Get(), nullptr, frames);
  return named_frames(frames);
}

// Of a description like the interpreter's own.
std::string layout_difference(const py::bytes& described) {
  const auto bytes = std::string_view(described);
  if (bytes.size() < described_bytes())
    throw py::value_error("too short");
  return difference_of_offsets(bytes.data());
}

struct NoNote {};

// Also returns how many of its frames had not changed since the last look.
py::tuple stack_kept() {
  thread_local OpenCalls<NoNote> calls;
  const size_t kept = calls.look(PyThreadState_Get(), nullptr);
  FrameList frames;
  for (size_t i = calls.size(); i-- > 0;)
    frames.push_back(calls[i].place);
  return py::make_tuple(named_frames(frames), kept);
}

// Between the program's frames and ours: what a handler raises meanwhile is raised afterwards.
void begin_with(const py::object& begin) {
  const HeldSignals held;
  begin();
}

bool succeeds(const py::object& end) {
  const HeldSignals held;
  PyObject* ended = PyObject_CallNoArgs(end.ptr());
  Py_XDECREF(ended);
  return ended != nullptr;
}

template <class Program>
PyObject* released(const Program& run) {
  const ReleasedSignals program_runs;
  return run();
}

// Returns the result of the program after `end` was called. An exception of the program takes
// precedence over one of `end`.
py::object result_of(PyObject* result, const py::object& end) {
  if (result == nullptr) {
    const KeepException keep;
    if (!succeeds(end))
      PyErr_Clear();
  } else if (!succeeds(end)) {
    Py_CLEAR(result);
  }
  if (result == nullptr)
    throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

}  // namespace

// Binds two things. First, the calling thread's frames, read in three ways, so that tests can
// compare them. Second, a call that runs the program with perfprobe's own frames hidden: `begin` is
// called before and `end` after it, so a profiler that runs between the two sees no call or return
// of perfprobe itself.
void bind_frames(py::module_& module) {
  check_frame_layout();
  module.attr("FAST_FRAMES") = frames_fit();
  module.def("frames_misfit", [] { return frames_misfit(); });
  module.def(
      "set_frames_misfit", [](const std::string& reason) { set_frames_misfit(reason); },
      py::arg("reason"));
  module.def("layout_difference", &layout_difference, py::arg("described"));
  module.def("stack_fast", &stack_fast);
  module.def("stack_public", &stack_public);
  module.def("stack_kept", &stack_kept);
  module.attr("DEEPEST_READ") = deepest_read();
  module.attr("FRAMES_OF_CUT") = kFramesOfCut;
  module.def("count_frames", &count_frames);
  module.def(
      "run_outermost",
      [](const py::object& begin, const py::object& end, const py::object& code,
         const py::dict& globals) {
        begin_with(begin);
        return result_of(released([&] { return run_outermost(code.ptr(), globals.ptr()); }), end);
      },
      py::arg("begin"), py::arg("end"), py::arg("code"), py::arg("globals"));
  module.def(
      "call_outermost",
      [](const py::object& begin, const py::object& end, const py::object& function,
         const py::args& arguments) {
        begin_with(begin);
        return result_of(released([&] { return call_outermost(function.ptr(), arguments.ptr()); }),
                         end);
      },
      py::arg("begin"), py::arg("end"), py::arg("function"));
}

}  // namespace perfprobe
