// Frames as rows for tests: file, function, its first line, line.
#pragma once

#include <pybind11/pybind11.h>

#include "python/frames.h"

namespace perfprobe {

inline pybind11::object function_name(PyCodeObject* code) {
#if PY_VERSION_HEX >= 0x030B0000
  return pybind11::reinterpret_borrow<pybind11::object>(code->co_qualname);
#else
  return pybind11::reinterpret_borrow<pybind11::object>(code->co_name);
#endif
}

inline pybind11::list named_frames(const FrameList& frames) {
  pybind11::list rows;
  for (const FrameRef& frame : frames) {
    auto* code = static_cast<PyCodeObject*>(const_cast<void*>(frame.code));
    if (code == nullptr) {
      rows.append(pybind11::none());  // kCutFrames
      continue;
    }
    const auto file = pybind11::reinterpret_borrow<pybind11::object>(code->co_filename);
    rows.append(pybind11::make_tuple(file, function_name(code), code->co_firstlineno,
                                     PyCode_Addr2Line(code, frame.instruction)));
  }
  return rows;
}

}  // namespace perfprobe
