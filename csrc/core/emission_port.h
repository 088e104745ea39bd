// How the observer passes operators to tools while they run: tables of plain functions that cross
// from one extension module to another and are called at every operator. None may throw.
#pragma once

#include <cstdint>

namespace perfprobe {

// Names of the capsules that carry them. Raise the number with any change.
inline constexpr const char* kEmissionCapsule = "perfprobe.emission.1";
inline constexpr const char* kExternalIdsCapsule = "perfprobe.external_ids.1";

// Sets ranges for another tool, all in one domain.
struct EmissionPort {
  // Keeps a copy of the text until the process ends. Any thread may call it.
  const void* (*add_message)(const char* text);
  // Ranges that nest on their thread: the thread that began one also ends it, the last one first.
  void (*push)(const void* message);
  void (*pop)();
  // Ranges that may end on any thread, in any order. 0 means no range.
  uint64_t (*begin)(const void* message);
  void (*end)(uint64_t range);
};

// Numbers that CUPTI attaches to the calling thread's GPU work; the innermost one counts. These are
// CUPTI's own functions (cuptiActivityPushExternalCorrelationId and Pop); their return codes are
// ignored.
struct ExternalIdPort {
  uint32_t kind;  // CUpti_ExternalCorrelationKind
  uint32_t (*push)(uint32_t kind, uint64_t id);
  uint32_t (*pop)(uint32_t kind, uint64_t* last);
};

}  // namespace perfprobe
