// The functions of the recorder's module for the injection libraries. They are C functions only,
// because an injection library shares no C++ library with the program. All may be called from any
// thread at any time, also while nothing is recorded. None throws.
#pragma once

#include <cstdint>

#include "gpu/range_event.h"

namespace perfprobe {

struct RangeSink {
  // Whether ranges are recorded now. If not, they are ignored.
  bool (*is_recording)();
  // Returns the number of a text, valid until the process ends. A null pointer is "(unnamed)".
  int32_t (*name)(const char* text);
  int32_t (*wide_name)(const wchar_t* text);
  // Returns the text of such a number, valid for ever.
  const char* (*text)(int32_t name);
  void (*push)(RangeSource source, int32_t domain, int32_t name);
  void (*pop)(RangeSource source, int32_t domain);
  // Returns the range's number for `end`; 0 if nothing is recorded.
  int64_t (*start)(RangeSource source, int32_t domain, int32_t name);
  // The same with a negative number chosen by the caller.
  void (*start_as)(RangeSource source, int32_t domain, int32_t name, int64_t id);
  void (*end)(RangeSource source, int64_t id);
  void (*mark)(RangeSource source, int32_t domain, int32_t name);
  // os_thread: the kernel's id; 0 is the calling thread.
  void (*name_thread)(int64_t os_thread, int32_t name);
  // Called once for each library of the program (by its file) that connects.
  void (*attached)(RangeSource source, const char* library);
};

// The function of the injection library that the recorder's module calls to connect.
inline constexpr const char* kConnect = "perfprobe_connect";
using ConnectSink = void (*)(const RangeSink*);

}  // namespace perfprobe
