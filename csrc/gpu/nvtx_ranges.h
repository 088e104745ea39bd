// Ranges for a tool that listens through NVTX (Nsight Systems, Nsight Compute): one domain,
// "perfprobe", and registered strings.
//
// Thread-safe without a lock. If no tool listens, each call only tests a pointer. To NVTX, each
// shared library that contains this code is a separate client. NVTX looks for a tool once, at the
// first call here.
#pragma once

#include <cstdint>

namespace perfprobe::nvtx {

// A text registered with the tool until the process ends; nullptr if no tool listens. NVTX never
// frees texts: make one of each and keep it.
using Message = const void*;

// Returns why nothing can be emitted: no tool listens, or perfprobe was built without the NVTX
// headers; nullptr if a tool other than perfprobe listens.
const char* missing();
inline bool is_listening() {
  return missing() == nullptr;
}

Message message(const char* text);
// Ranges that nest on the calling thread. `payload`: a number that the tool shows beside the text.
void push(Message message, uint64_t payload = 0);
void pop();
// May end on another thread and in any order. 0 if no tool listens.
uint64_t start(Message message);
void end(uint64_t range);
void mark(Message message);

}  // namespace perfprobe::nvtx
