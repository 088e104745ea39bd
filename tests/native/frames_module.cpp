// The frame reader alone as an extension module, for interpreters without perfprobe.
#include <pybind11/pybind11.h>

#include "python/open_calls.h"

namespace perfprobe {
void bind_frames(pybind11::module_& module);

namespace {

struct Nothing {};

// As an operator does it. Returns how many calls have not changed; 0 without a look, to time that.
size_t look(bool wanted) {
  thread_local OpenCalls<Nothing> calls;
  return wanted ? calls.look(PyThreadState_Get(), nullptr) : 0;
}

}  // namespace
}  // namespace perfprobe

PYBIND11_MODULE(frames_module, module) {
  perfprobe::bind_frames(module);
  module.def("look", &perfprobe::look, pybind11::arg("wanted"));
}
