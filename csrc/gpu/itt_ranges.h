// Ranges for a collector that listens through ITT (VTune): one domain, "perfprobe", and string
// handles. The same calls as in nvtx_ranges.h; see there.
//
// The collector is the library that INTEL_LIBITTNOTIFY64 names, loaded at the first call here as
// Intel's own client code would do it.
#pragma once

#include <cstdint>

namespace perfprobe::itt {

using Message = const void*;

const char* lack();
inline bool is_listening() {
  return lack() == nullptr;
}

Message message(const char* text);
// ITT has no place for a number beside a task's name: `payload` is not shown.
void push(Message message, uint64_t payload = 0);
void pop();
// Tasks that overlap others.
uint64_t start(Message message);
void end(uint64_t range);
void mark(Message message);

}  // namespace perfprobe::itt
