#include "python/code_filter.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#if PY_VERSION_HEX < 0x030B0000
#include <frameobject.h>
#endif

namespace perfprobe {
namespace {

std::string_view utf8_of(PyObject* text) {
  Py_ssize_t length = PyUnicode_GET_LENGTH(text);
  if (PyUnicode_IS_COMPACT_ASCII(text) != 0)
    return {reinterpret_cast<const char*>(PyUnicode_1BYTE_DATA(text)), static_cast<size_t>(length)};
  const char* letters = PyUnicode_AsUTF8AndSize(text, &length);
  if (letters == nullptr) {  // lone surrogates: a file name that is not UTF-8
    PyErr_Clear();
    return {};
  }
  return {letters, static_cast<size_t>(length)};
}

// Compared backwards: most paths differ from a folder in its last letters, and many start the same.
bool lies_in(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path[folder.size() - 1] == folder.back() &&
         std::memcmp(path.data(), folder.data(), folder.size()) == 0;
}

bool is_main() {
  PyObject* globals = PyEval_GetGlobals();  // of the function that begins
  PyObject* name = globals == nullptr ? nullptr : PyDict_GetItemString(globals, "__name__");
  return name != nullptr && PyUnicode_Check(name) != 0 &&
         PyUnicode_CompareWithASCIIString(name, "__main__") == 0;
}

}  // namespace

bool CodeFilter::is_ours(const PyCodeObject* code) const {
  return !rules_->own.empty() && lies_in(utf8_of(code->co_filename), rules_->own);
}

// The program's own module may be in such a folder too: `-m package`.
bool CodeFilter::is_library_module(const PyCodeObject* code) const {
  if (rules_->libraries.empty() || utf8_of(code->co_name) != "<module>")
    return false;
  const std::string_view path = utf8_of(code->co_filename);
  const auto holds = [&](const std::string& folder) { return lies_in(path, folder); };
  return std::ranges::any_of(rules_->libraries, holds) && !is_main();
}

bool CodeFilter::begins_skip(PyCodeObject* code) {
  const bool ours = is_ours(code);
  if (!ours && !is_library_module(code))
    return false;
  turns_.push_back({code, 0, true, ours});
  return true;
}

bool CodeFilter::lends(PyCodeObject* code) {
  if (!turns_.back().is_ours || is_ours(code) || !caller_lends())
    return false;
  const bool counts = !is_library_module(code);
  turns_.push_back({code, 0, !counts, false});
  return counts;
}

bool CodeFilter::caller_lends() const {
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  PyFrameObject* caller = frame == nullptr ? nullptr : PyFrame_GetBack(frame);
  Py_XDECREF(frame);
  if (caller == nullptr)
    return false;
  PyCodeObject* code = PyFrame_GetCode(caller);
  Py_DECREF(caller);
  const std::string_view name = utf8_of(code->co_name);
  const bool found = is_ours(code) && std::ranges::any_of(rules_->lenders, [&](const auto& lender) {
                       return lender == name;
                     });
  Py_DECREF(code);
  return found;
}

}  // namespace perfprobe
