// Ranges for a tool that listens through NVTX (Nsight Systems, Nsight Compute): one domain,
// "perfprobe", and registered strings.
//
// Thread-safe; no lock of ours. Without a listener each call is a test of one pointer. Each shared
// library that holds this code is a client of its own for NVTX, which looks for a tool once: at the
// first call here.
#pragma once

#include <cstdint>

namespace perfprobe::nvtx {

// A text known to the listener, for the life of the process; nullptr where no tool listens. NVTX
// keeps each for ever: make one of each text and keep it.
using Message = const void*;

// Why nothing can be emitted: no listener, or perfprobe was built without the NVTX headers; nullptr
// where a tool other than perfprobe listens.
const char* lack();
inline bool is_listening() {
  return lack() == nullptr;
}

Message message(const char* text);
// Nest on the calling thread. `payload`: a number that the tool shows beside the text.
void push(Message message, uint64_t payload = 0);
void pop();
// May end on another thread, and in any order. 0 where no tool listens.
uint64_t start(Message message);
void end(uint64_t range);
void mark(Message message);

}  // namespace perfprobe::nvtx
