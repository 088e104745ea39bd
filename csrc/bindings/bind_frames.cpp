#include <string>
#include <string_view>
#include <vector>

#include <pybind11/pybind11.h>

#include "python/frames.h"
#include "python/held_signals.h"
#include "python/keep_exception.h"
#include "python/layout_offsets.h"
#include "python/open_calls.h"
#include "python/outermost.h"
#include "python/seen_code.h"

namespace py = pybind11;

namespace perfprobe {
namespace {

py::object function_name(PyCodeObject* code) {
#if PY_VERSION_HEX >= 0x030B0000
  return py::reinterpret_borrow<py::object>(code->co_qualname);
#else
  return py::reinterpret_borrow<py::object>(code->co_name);
#endif
}

py::list named_frames(const FrameList& frames) {
  py::list rows;
  for (const FrameRef& frame : frames) {
    auto* code = static_cast<PyCodeObject*>(const_cast<void*>(frame.code));
    if (code == nullptr) {
      rows.append(py::none());  // kCutFrames
      continue;
    }
    const auto file = py::reinterpret_borrow<py::object>(code->co_filename);
    rows.append(py::make_tuple(file, function_name(code), code->co_firstlineno,
                               PyCode_Addr2Line(code, frame.instruction)));
  }
  return rows;
}

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

#ifdef PERFPROBE_FOREIGN_FRAMES

py::list sampled_rows(const ForeignFrames& frames, SeenCode& code) {
  py::list rows;
  for (const ForeignFrame& frame : frames.frames()) {
    const SeenCode::Entry& entry = code.entry(frame.code);
    rows.append(py::make_tuple(std::string(entry.file), std::string(entry.function),
                               entry.first_line, entry.line_of(frame.instruction)));
  }
  return rows;
}

// Returns for each other thread its frames as the sampler reads them, None if that fails, and as
// Python's public functions do. No thread runs between the two. There are gaps while a finalizer
// runs: the frame whose variables are released is still there.
py::list stacks_of_threads() {
  const OwnMemory memory;
  ForeignFrames frames(memory);
  SeenCode code(memory);
  std::vector<SeenThread> threads;
  py::list pairs;
  if (!read_threads(memory, threads))
    return pairs;
  for (SeenThread& thread : threads) {
    auto* state = const_cast<PyThreadState*>(thread.address);
    if (state == PyThreadState_Get())
      continue;
    FrameList by_python;
    read_frames_public(state, nullptr, by_python);
    const bool is_read = frames.read(thread) && code.check(frames.frames(), /*with_gaps=*/true);
    pairs.append(py::make_tuple(is_read ? py::object(sampled_rows(frames, code)) : py::none(),
                                named_frames(by_python)));
  }
  return pairs;
}

#else

py::list stacks_of_threads() {
  return py::list();
}

#endif

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

// Binds two things. First, frames of this thread and others, read in several ways, so that tests
// can compare them. Second, a call that runs the program with perfprobe's own frames hidden:
// `begin` is called before and `end` after it, so a profiler that runs between the two sees no call
// or return of perfprobe itself.
void bind_frames(py::module_& module) {
  check_frame_layout();
  module.attr("FAST_FRAMES") = frames_fit();
  module.def("frames_misfit", [] { return frames_misfit(); });
  module.def(
      "set_frames_misfit", [](const std::string& reason) { set_frames_misfit(reason); },
      py::arg("reason"));
  module.def("layout_difference", &layout_difference, py::arg("described"));
  module.def("stacks_of_threads", &stacks_of_threads);
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
