#include "python/layout_offsets.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>

#include "python/internal_frame.h"

#if defined(PERFPROBE_FAST_FRAMES) && PY_VERSION_HEX >= 0x030D0000

#define Py_BUILD_CORE 1
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#if PY_VERSION_HEX >= 0x030E0000
#include <internal/pycore_debug_offsets.h>
#else
#include <internal/pycore_runtime.h>
#endif
#pragma GCC diagnostic pop
#undef Py_BUILD_CORE

namespace perfprobe {
namespace {

struct DescribedField {
  const char* name;
  uint64_t expected;
  size_t place;  // of the value in the description
};

#define PERFPROBE_FIELD(part, field, expected)                         \
  DescribedField {                                                     \
    #part "." #field, expected, offsetof(_Py_DebugOffsets, part.field) \
  }

// What is read by its place. That of the others is between these.
constexpr std::array kDescribedFields = {
    PERFPROBE_FIELD(thread_state, prev, offsetof(PyThreadState, prev)),
    PERFPROBE_FIELD(thread_state, next, offsetof(PyThreadState, next)),
    PERFPROBE_FIELD(thread_state, interp, offsetof(PyThreadState, interp)),
    PERFPROBE_FIELD(thread_state, current_frame, offsetof(PyThreadState, current_frame)),
    PERFPROBE_FIELD(thread_state, native_thread_id, offsetof(PyThreadState, native_thread_id)),
    PERFPROBE_FIELD(thread_state, datastack_chunk, offsetof(PyThreadState, datastack_chunk)),
    PERFPROBE_FIELD(interpreter_frame, size, sizeof(_PyInterpreterFrame)),
    PERFPROBE_FIELD(interpreter_frame, previous, offsetof(_PyInterpreterFrame, previous)),
    PERFPROBE_FIELD(interpreter_frame, executable, offsetof(_PyInterpreterFrame, f_executable)),
    PERFPROBE_FIELD(interpreter_frame, instr_ptr, offsetof(_PyInterpreterFrame, instr_ptr)),
    PERFPROBE_FIELD(interpreter_frame, localsplus, offsetof(_PyInterpreterFrame, localsplus)),
    PERFPROBE_FIELD(interpreter_frame, owner, offsetof(_PyInterpreterFrame, owner)),
#if PY_VERSION_HEX >= 0x030E0000
    PERFPROBE_FIELD(interpreter_frame, stackpointer, offsetof(_PyInterpreterFrame, stackpointer)),
#endif
    PERFPROBE_FIELD(code_object, size, sizeof(PyCodeObject)),
    PERFPROBE_FIELD(code_object, filename, offsetof(PyCodeObject, co_filename)),
    PERFPROBE_FIELD(code_object, qualname, offsetof(PyCodeObject, co_qualname)),
    PERFPROBE_FIELD(code_object, linetable, offsetof(PyCodeObject, co_linetable)),
    PERFPROBE_FIELD(code_object, firstlineno, offsetof(PyCodeObject, co_firstlineno)),
    PERFPROBE_FIELD(code_object, co_code_adaptive, offsetof(PyCodeObject, co_code_adaptive)),
    PERFPROBE_FIELD(pyobject, ob_type, offsetof(PyObject, ob_type)),
    PERFPROBE_FIELD(bytes_object, ob_sval, offsetof(PyBytesObject, ob_sval)),
    PERFPROBE_FIELD(unicode_object, state, offsetof(PyASCIIObject, state)),
    PERFPROBE_FIELD(unicode_object, length, offsetof(PyASCIIObject, length)),
    PERFPROBE_FIELD(unicode_object, asciiobject_size, sizeof(PyASCIIObject)),
};

#undef PERFPROBE_FIELD

uint64_t described_value(const void* described, size_t place) {
  uint64_t value = 0;
  std::memcpy(&value, static_cast<const std::byte*>(described) + place, sizeof(value));
  return value;
}

}  // namespace

std::string difference_of_offsets(const void* described) {
  constexpr const char* kCookie = "xdebugpy";
  if (std::memcmp(described, kCookie, sizeof(_Py_DebugOffsets::cookie)) != 0)
    return "this Python does not describe its layout";
  if (described_value(described, offsetof(_Py_DebugOffsets, free_threaded)) != 0)
    return "this Python has no global lock";
  for (const DescribedField& field : kDescribedFields) {
    const uint64_t found = described_value(described, field.place);
    if (found != field.expected)
      return std::string(field.name) + " is " + std::to_string(found) + " in this Python, not " +
             std::to_string(field.expected) + " as in the headers";
  }
  return {};
}

size_t described_bytes() {
  return sizeof(_Py_DebugOffsets);
}

std::string difference_of_offsets() {
  const void* runtime = ::dlsym(RTLD_DEFAULT, "_PyRuntime");
  if (runtime == nullptr)
    return "this Python does not export _PyRuntime";
  return difference_of_offsets(runtime);
}

}  // namespace perfprobe

#else

namespace perfprobe {

std::string difference_of_offsets(const void* /*described*/) {
  return {};
}

size_t described_bytes() {
  return 0;
}

std::string difference_of_offsets() {
  return {};
}

}  // namespace perfprobe

#endif
