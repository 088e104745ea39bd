// What the observer tells others about operators while they run, as tables of plain functions: they
// cross from one extension module to another and are called at every operator. None may throw.
#pragma once

#include <cstdint>

namespace perfprobe {

// Names of the capsules that carry them; raise the number with any change.
inline constexpr const char* kEmissionCapsule = "perfprobe.emission.1";
inline constexpr const char* kExternalIdsCapsule = "perfprobe.external_ids.1";

// Sets ranges for another tool, all in one domain.
struct EmissionPort {
  // Keeps a copy of the text as long as the process lives; any thread.
  const void* (*add_message)(const char* text);
  // Ranges that nest on their thread: each is ended by the thread that began it, the last one
  // first.
  void (*push)(const void* message);
  void (*pop)();
  // Ranges that may end on any thread, in any order. 0 is not a range.
  uint64_t (*begin)(const void* message);
  void (*end)(uint64_t range);
};

// Numbers that CUPTI hands on with what the calling thread asks of a GPU: the innermost one counts.
// Its own functions (cuptiActivityPushExternalCorrelationId and Pop), whose codes nobody reads.
struct ExternalIdPort {
  uint32_t kind;  // CUpti_ExternalCorrelationKind
  uint32_t (*push)(uint32_t kind, uint64_t id);
  uint32_t (*pop)(uint32_t kind, uint64_t* last);
};

}  // namespace perfprobe
