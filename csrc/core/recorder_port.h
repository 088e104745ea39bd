// What a collector in another extension module may ask of the recorder.
//
// The modules are built at different times against different things (the observer with torch's own
// C++ ABI), so only a vtable and PODs cross: no std:: type, whose layout may differ. All calls are
// cold: a recording thread meets them on first sight of something, or when its chunk is full.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/event_buffer.h"
#include "core/hash.h"
#include "core/records.h"

namespace perfprobe {

// Name of the capsule that carries a RecorderPort*; raise the number with any change of this
// interface.
inline constexpr const char* kRecorderCapsule = "perfprobe.recorder.6";

struct InternedText {
  int32_t id;
  const char* text;  // stays valid as long as the recorder: for ever
};

struct SignatureText {
  const char* text;     // one grammar for report, JSON and bench
  const char* example;  // the same call with the values of its floats; nullptr when equal to text
  const char* values;   // what is in the tensors (JSON); nullptr where nothing was looked at
  uint64_t grad_mask;   // bit i: the i-th tensor (lists flattened) requires grad
  // The operator whose inputs these are.
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
  // `finite`: an operator of torch's registry, not one of the ranges a program makes up.
  virtual InternedText intern_name(const char* name, bool finite) = 0;
  virtual int32_t add_signature(Hash128 hash, const SignatureText& signature) = 0;
  // What is in the tensors of a later call of a signature.
  virtual void add_values(int32_t signature, const char* values) = 0;
  // Both need the GIL; frames come innermost first, `modules` holds a module id per frame (-1
  // none).
  virtual int32_t add_stack(Hash128 hash, const FrameRef* frames, const int32_t* modules,
                            size_t count) = 0;
  virtual ModuleRef find_module(const void* module, const void* root) = 0;
  // The module that holds this parameter (PyObject), of those named so far; no id where none does.
  // Needs the GIL.
  virtual ModuleRef find_holder(const void* parameter) = 0;
  // How many modules have been named: with more of them more holders may be known.
  [[nodiscard]] virtual uint32_t modules_named() const = 0;
  // Rises when known modules got new names: cached ModuleRefs are stale.
  [[nodiscard]] virtual uint32_t module_generation() const = 0;
  // A fresh chunk for `thread`, nullptr when there is no memory; `full` (may be nullptr) goes to
  // the writer.
  virtual Chunk* exchange_chunk(Chunk* full, int32_t thread) = 0;
  // The thread ends: its chunk goes to the writer, unfinished.
  virtual void return_chunk(Chunk* chunk) = 0;
  virtual void count_dropped(Dropped what) = 0;
  // Whether times are ticks of the time stamp counter: see clock.h.
  [[nodiscard]] virtual bool takes_tsc() const = 0;

 protected:
  ~RecorderPort() = default;
};

}  // namespace perfprobe
