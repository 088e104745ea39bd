// A preloaded library in which one call of perfprobe's own fails, in whichever process of a
// program's tree.
//
// FAULTS=KIND:N fails the n-th own call of a kind, counted from 1; without it, calls are only
// counted. Kinds are listed in faults.cpp. FAULTS_FILE names the file of counts, see Shared, which
// all processes share.
//
// A call is perfprobe's own if its caller is code of _core or of the observer, or if the innermost
// Python frame outside the standard library is perfprobe's and the interpreter calls. With
// FAULTS_ALL=1, one perfprobe frame below is enough.
#pragma once

#include <atomic>
#include <cstdint>

namespace perfprobe::faults {

enum class Kind : uint8_t {
  open,
  read,
  write,
  status,
  change,
  descriptor,
  map,
  thread,
  fork,
  socket,
  message,
  perf,
  process,
  memory,
  count
};

// What the file holds.
struct Shared {
  std::atomic<uint64_t> calls[static_cast<int>(Kind::count)];
  std::atomic<uint64_t> failed;
  char where[256];  // the failed call's caller
};

// Whether this call must fail. caller: the return address of the call.
bool fails(Kind kind, const void* caller);

// What the caller is: where in perfprobe's Python or native code; empty if it is not perfprobe's
// own. size: of `text`.
bool is_own(const void* caller, bool only_native, char* text, int size);

}  // namespace perfprobe::faults
