// Ranges for a collector that listens through ITT (VTune): one domain, "perfprobe", and string
// handles. The functions are those of nvtx_ranges.h and explained there.
//
// The collector is the library that INTEL_LIBITTNOTIFY64 names. It is loaded at the first call
// here, as Intel's client code does.
#pragma once

#include <cstdint>

namespace perfprobe::itt {

using Message = const void*;

const char* missing();
inline bool is_listening() {
  return missing() == nullptr;
}

Message message(const char* text);
// `payload` is not shown: an ITT task has no number beside its name.
void push(Message message, uint64_t payload = 0);
void pop();
// Tasks that may overlap others.
uint64_t start(Message message);
void end(uint64_t range);
void mark(Message message);

}  // namespace perfprobe::itt
