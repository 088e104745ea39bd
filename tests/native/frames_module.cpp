// The frame reader alone as an extension module, for interpreters without perfprobe.
#include <pybind11/pybind11.h>

namespace perfprobe {
void bind_frames(pybind11::module_& module);
}

PYBIND11_MODULE(frames_module, module) {
  perfprobe::bind_frames(module);
}
