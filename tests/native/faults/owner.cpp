// Whether perfprobe makes a call.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

#include <link.h>
#include <unwind.h>

#include "faults.h"

namespace perfprobe::faults {
namespace {

// Of Python, found when needed: this library is also loaded into other programs.
template <class Function>
Function python(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

using Object = void*;

struct Api {
  Object (*state)() = python<Object (*)()>("PyGILState_GetThisThreadState");
  int (*hold)() = python<int (*)()>("PyGILState_Ensure");
  void (*let_go)(int) = python<void (*)(int)>("PyGILState_Release");
  int (*is_ready)() = python<int (*)()>("Py_IsInitialized");
  Object (*frame)() = python<Object (*)()>("PyEval_GetFrame");
  Object (*outer)(Object) = python<Object (*)(Object)>("PyFrame_GetBack");
  Object (*code)(Object) = python<Object (*)(Object)>("PyFrame_GetCode");
  int (*line)(Object) = python<int (*)(Object)>("PyFrame_GetLineNumber");
  Object (*attribute)(Object, const char*) =
      python<Object (*)(Object, const char*)>("PyObject_GetAttrString");
  const char* (*text)(Object) = python<const char* (*)(Object)>("PyUnicode_AsUTF8");
  void (*keep)(Object) = python<void (*)(Object)>("Py_IncRef");
  void (*drop)(Object) = python<void (*)(Object)>("Py_DecRef");
  void (*fetch)(Object*, Object*,
                Object*) = python<void (*)(Object*, Object*, Object*)>("PyErr_Fetch");
  void (*restore)(Object, Object,
                  Object) = python<void (*)(Object, Object, Object)>("PyErr_Restore");
};

bool contains(const char* text, const char* part) {
  return std::strstr(text, part) != nullptr;
}

bool is_own_library(const char* path) {
  return contains(path, "/_core.") || contains(path, "/_observer");
}

struct Library {
  const char* path = "";
  const char* start = nullptr;
};

// Takes no lock, unlike dladdr, and does not look for a symbol.
Library library_of(const void* address) {
  dl_find_object found;
  if (_dl_find_object(const_cast<void*>(address), &found) != 0)
    return {};
  return {found.dlfo_link_map->l_name, static_cast<const char*>(found.dlfo_map_start)};
}

struct Search {
  const char* found = nullptr;
  int depth = 0;
};

_Unwind_Reason_Code look(_Unwind_Context* context, void* argument) {
  constexpr int kDeepest = 24;
  auto& search = *static_cast<Search*>(argument);
  const auto* address = reinterpret_cast<const char*>(_Unwind_GetIP(context));
  const Library library = library_of(address);
  if (++search.depth > kDeepest)
    return _URC_END_OF_STACK;
  if (is_own_library(library.path))
    search.found = address;
  const bool passes = contains(library.path, "libfaults") || contains(library.path, "libstdc++");
  return passes ? _URC_NO_REASON : _URC_END_OF_STACK;
}

// The standard library stands between a caller of ours and many calls.
const char* own_native(const void* caller) {
  const char* path = library_of(caller).path;
  if (is_own_library(path))
    return static_cast<const char*>(caller);
  Search search;
  if (contains(path, "libstdc++"))
    _Unwind_Backtrace(look, &search);
  return search.found;
}

// The interpreter or one of its modules. Other libraries that Python calls answer for themselves.
bool is_interpreter(const void* caller) {
  const char* path = library_of(caller).path;
  return *path == '\0' || (contains(path, "python") && !contains(path, "-packages/"));
}

bool is_of_library(const char* file) {
  return file[0] == '<' || (contains(file, "/lib/python3") && !contains(file, "-packages/"));
}

// Only pass the program's imports on.
bool is_passing(const char* file) {
  return contains(file, "/perfprobe/collect/imports.py") ||
         contains(file, "/perfprobe/__main__.py");
}

bool own_python(const Api& api, char* text, int size) {
  const bool all = std::getenv("FAULTS_ALL") != nullptr;
  bool found = false;
  bool ends = false;
  Object frame = api.frame();
  if (frame != nullptr)
    api.keep(frame);
  while (frame != nullptr && !ends) {
    const Object code = api.code(frame);
    const Object file = api.attribute(code, "co_filename");
    const char* name = file == nullptr ? nullptr : api.text(file);
    if (name != nullptr && !is_of_library(name) && !is_passing(name)) {
      found = contains(name, "/perfprobe/") && !contains(name, "/site-packages/torch/");
      ends = found || !all;
      if (found)
        std::snprintf(text, size, "%s:%d", std::strstr(name, "/perfprobe/") + 1, api.line(frame));
    }
    if (file != nullptr)
      api.drop(file);
    api.drop(code);
    const Object outer = api.outer(frame);
    api.drop(frame);
    frame = outer;
  }
  if (frame != nullptr)
    api.drop(frame);
  return found;
}

}  // namespace

bool is_own(const void* caller, bool only_native, char* text, int size) {
  if (const char* own = own_native(caller)) {
    const Library library = library_of(own);
    const auto offset = static_cast<unsigned long>(own - library.start);
    std::snprintf(text, size, "%s+0x%lx", std::strrchr(library.path, '/') + 1, offset);
    return true;
  }
  static const Api api;
  if (only_native || !is_interpreter(caller) || api.state == nullptr || api.is_ready() == 0 ||
      api.state() == nullptr)
    return false;
  const int held = api.hold();
  Object error[3];
  api.fetch(&error[0], &error[1], &error[2]);
  const bool own = own_python(api, text, size);
  api.restore(error[0], error[1], error[2]);
  api.let_go(held);
  return own;
}

}  // namespace perfprobe::faults
