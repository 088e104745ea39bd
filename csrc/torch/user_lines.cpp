#include "torch/user_lines.h"

#include <algorithm>
#include <array>

#include "python/keep_exception.h"

namespace perfprobe {
namespace {

// Python code calls autograd's engine only through this file.
constexpr std::string_view kEngineFile = "torch/autograd/graph.py";
constexpr std::string_view kEngineFunction = "_engine_run_backward";

// These are between every call and its operator.
constexpr std::array<std::string_view, 2> kHandlers = {"__torch_function__", "__torch_dispatch__"};

std::string_view text_of(PyObject* text) {
  Py_ssize_t length = 0;
  const char* letters = PyUnicode_AsUTF8AndSize(text, &length);
  if (letters == nullptr) {  // the file name is not UTF-8
    PyErr_Clear();
    return "?";
  }
  return {letters, static_cast<size_t>(length)};
}

std::string_view function_of(PyCodeObject* code) {
#if PY_VERSION_HEX >= 0x030B0000
  return text_of(code->co_qualname);
#else
  return text_of(code->co_name);
#endif
}

std::string line_text(PyCodeObject* code, int32_t instruction) {
  const std::string_view path = text_of(code->co_filename);
  const int line = PyCode_Addr2Line(code, instruction);
  std::string text(path.substr(path.rfind('/') + 1));  // npos + 1 is 0
  return text.append(":").append(std::to_string(line)).append(" ").append(function_of(code));
}

}  // namespace

std::string UserLines::find(const FrameList& frames, bool in_backward) const {
  const KeepException keep_exception;
  for (const FrameRef& frame : frames) {
    auto* code = static_cast<PyCodeObject*>(const_cast<void*>(frame.code));
    const std::string_view path = text_of(code->co_filename);
    const std::string_view name = text_of(code->co_name);
    if (in_backward && name == kEngineFunction && path.ends_with(kEngineFile))
      return {};
    if (users_.holds(path) && std::ranges::find(kHandlers, name) == kHandlers.end())
      return line_text(code, frame.instruction);
  }
  return {};
}

}  // namespace perfprobe
