#include "torch/user_lines.h"

#include <algorithm>
#include <array>

#include "python/keep_exception.h"

namespace perfprobe {
namespace {

// Folders of libraries wherever they lie, and what stands in angle brackets but was typed in.
constexpr std::array<std::string_view, 3> kLibraryParts = {"/site-packages/", "/dist-packages/",
                                                           "/torchinductor_"};
constexpr std::array<std::string_view, 2> kTyped = {"<stdin>", "<ipython-input"};

// Every call of autograd's engine from Python goes through this function.
constexpr std::string_view kEngineFile = "torch/autograd/graph.py";
constexpr std::string_view kEngineFunction = "_engine_run_backward";

// They stand between every call and its operator.
constexpr std::array<std::string_view, 2> kHandlers = {"__torch_function__", "__torch_dispatch__"};

std::string_view text_of(PyObject* text) {
  Py_ssize_t length = 0;
  const char* letters = PyUnicode_AsUTF8AndSize(text, &length);
  if (letters == nullptr) {  // a file name that is no UTF-8
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

bool UserLines::is_users(std::string_view path) const {
  if (path.starts_with('<'))
    return std::ranges::any_of(kTyped, [&](auto typed) { return path.starts_with(typed); });
  size_t deepest = 0;
  bool found = true;
  for (const auto& [folder, is_user] : folders_) {
    const bool lies_in =
        path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
    if (lies_in && folder.size() + 1 > deepest) {
      deepest = folder.size() + 1;
      found = is_user;
    }
  }
  for (const std::string_view part : kLibraryParts) {
    const size_t place = path.rfind(part);
    if (place != std::string_view::npos && place + part.size() > deepest)
      return false;
  }
  return found;
}

std::string UserLines::find(const FrameList& frames, bool in_backward) const {
  const KeepException keep_exception;
  for (const FrameRef& frame : frames) {
    auto* code = static_cast<PyCodeObject*>(const_cast<void*>(frame.code));
    const std::string_view path = text_of(code->co_filename);
    const std::string_view name = text_of(code->co_name);
    if (in_backward && name == kEngineFunction && path.ends_with(kEngineFile))
      return {};
    if (is_users(path) && std::ranges::find(kHandlers, name) == kHandlers.end())
      return line_text(code, frame.instruction);
  }
  return {};
}

}  // namespace perfprobe
