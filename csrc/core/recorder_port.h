// What a collector in another extension module may ask of the recorder.
//
// The modules are built at different times with different dependencies (the observer uses torch's
// C++ ABI). So only a vtable and PODs are passed, no std:: types, whose layout may differ. All
// calls are rare: a recording thread makes them on first sight of something, or when its chunk is
// full.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/event_buffer.h"
#include "core/hash.h"
#include "core/module_call_row.h"
#include "core/records.h"

namespace perfprobe {

// Name of the capsule that carries a RecorderPort*. Raise the number with any change of this
// interface.
inline constexpr const char* kRecorderCapsule = "perfprobe.recorder.10";

struct InternedText {
  int32_t id;
  const char* text;  // valid for ever, as the recorder is never destroyed
};

struct SignatureText {
  const char* text;     // same grammar for report, JSON and bench
  const char* example;  // the same call with the values of its floats; nullptr when equal to text
  const char* values;   // values of the tensors (JSON); nullptr if not read
  uint64_t grad_mask;   // bit i: the i-th tensor (lists flattened) requires grad
  // The operator that has these inputs.
  int32_t name = kNone, overload = kNone;
};

// An nn.Module as first seen; `weak` is a PyWeakReference kept by the recorder.
struct ModuleRef {
  int32_t id;
  const void* weak;
};

enum class Dropped { open_end, foreign_end, no_memory };
inline constexpr size_t kDroppedKinds = 3;

class RecorderPort {
 public:
  virtual int32_t add_thread(int64_t os_thread, int64_t forward_id, const char* name) = 0;
  // `finite`: an operator of torch's registry, not a range of the program.
  virtual InternedText intern_name(const char* name, bool finite) = 0;
  virtual int32_t add_signature(Hash128 hash, const SignatureText& signature) = 0;
  // Adds values of the tensors of a signature, read at a later call.
  virtual void add_values(int32_t signature, const char* values) = 0;
  // Returns the id of a whole stack, InternTable::kAbsent on first sight. Beyond the limit, all
  // others are one stack. On first sight, call `add_call` for each of its calls from the outermost
  // on (`outer`: the stack around it, -1 for none; `module`: of the call or around it, -1 for
  // none), then `remember_stack`.
  [[nodiscard]] virtual int32_t find_stack(Hash128 hash) = 0;
  virtual void remember_stack(Hash128 hash, int32_t stack) = 0;
  // Both need the GIL.
  virtual int32_t add_call(int32_t outer, const FrameRef& frame, int32_t module) = 0;
  virtual ModuleRef find_module(const void* module, const void* root) = 0;
  // Returns the module that holds this parameter (PyObject), of the modules named so far. Without
  // one, the id is none. Needs the GIL.
  virtual ModuleRef find_holder(const void* parameter) = 0;
  // How many modules have been named. If it grows, more holders may be known.
  [[nodiscard]] virtual uint32_t modules_named() const = 0;
  // Increases when known modules get new names: cached ModuleRefs are then stale.
  [[nodiscard]] virtual uint32_t module_generation() const = 0;
  // A thread has called a module that no other one calls. Takes a lock.
  virtual void add_module_call(const ModuleCallRow& call) = 0;
  // Reads how long the calling thread has waited for a processor. A system call, and a lock.
  virtual void read_wait(int32_t thread) = 0;
  // Returns a new chunk for rows of this kind of `thread`, nullptr if memory ran out. `full` (may
  // be nullptr) goes to the writer.
  virtual Chunk* exchange_chunk(Chunk* full, int32_t thread, RowKind kind) = 0;
  // A thread ends: its unfinished chunk goes to the writer.
  virtual void return_chunk(Chunk* chunk) = 0;
  virtual void count_dropped(Dropped what) = 0;
  // Whether times are ticks of the time stamp counter: see clock.h.
  [[nodiscard]] virtual bool takes_tsc() const = 0;

 protected:
  ~RecorderPort() = default;
};

}  // namespace perfprobe
