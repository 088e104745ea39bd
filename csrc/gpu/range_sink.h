// What the injection library asks of the recorder's module: C functions only, for it shares no C++
// library with the program it is loaded into. All may be called from any thread at any time, also
// when nothing is recorded, and none throws.
#pragma once

#include <cstdint>

#include "gpu/range_event.h"

namespace perfprobe {

struct RangeSink {
  // Whether ranges are recorded now; else they are ignored.
  bool (*is_recording)();
  // The number of a text, for the life of the process. A null pointer is "(unnamed)".
  int32_t (*name)(const char* text);
  int32_t (*wide_name)(const wchar_t* text);
  // The text of such a number, for ever.
  const char* (*text)(int32_t name);
  void (*push)(RangeSource source, int32_t domain, int32_t name);
  void (*pop)(RangeSource source, int32_t domain);
  // The range's number for `end`, 0 when nothing is recorded.
  int64_t (*start)(RangeSource source, int32_t domain, int32_t name);
  // The same with a number of the caller's choice, negative.
  void (*start_as)(RangeSource source, int32_t domain, int32_t name, int64_t id);
  void (*end)(RangeSource source, int64_t id);
  void (*mark)(RangeSource source, int32_t domain, int32_t name);
  // os_thread: the kernel's number, 0 the calling one.
  void (*name_thread)(int64_t os_thread, int32_t name);
  // A library of the program, by its file, has found us.
  void (*attached)(RangeSource source, const char* library);
};

// The injection library's entry for the recorder's module.
inline constexpr const char* kConnect = "perfprobe_connect";
using ConnectSink = void (*)(const RangeSink*);

}  // namespace perfprobe
