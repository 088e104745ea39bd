// The Python calls that are open on a thread, kept from one look to the next: a look reads what has
// changed, not the whole stack.
#pragma once

#include <cstddef>

#include <Python.h>

#include "core/mapped_memory.h"
#include "core/records.h"
#include "python/frame_marks.h"
#include "python/frames.h"

namespace perfprobe {

template <class Note>
struct OpenCall {
  const void* frame;  // nullptr if the next look cannot recognise it
  FrameRef place;
  Note note;  // the owner's, about the stack up to this call; invalid after a change
};

// Outermost first. Only the thread itself may use it.
template <class Note>
class OpenCalls {
 public:
  [[nodiscard]] size_t size() const { return size_; }
  OpenCall<Note>& operator[](size_t index) { return calls_[index]; }
  void clear() { size_ = known_ = 0; }
  // Whether this call has begun since the look before the last one. False where the next look could
  // not recognise it: it would be new again.
  [[nodiscard]] bool is_new(size_t index) {
    return index >= known_ && calls_[index].frame != nullptr;
  }

  // Reads the stack of the calling thread. Returns how many of its calls, from the outermost on,
  // have not changed since the last look. module_call: see place_of. Needs the GIL unless
  // frames_fit().
  //
  // If the stack is deeper than deepest_read(), only the innermost kFramesOfCut are kept, inside of
  // kCutFrames.
  size_t look(PyThreadState* state, const void* module_call) {
    return frames_fit() ? look_fast(state, module_call) : look_public(state, module_call);
  }

 private:
  size_t look_fast(const PyThreadState* state, const void* module_call);
  size_t look_public(PyThreadState* state, const void* module_call);
  [[nodiscard]] size_t find(const Caller& caller) const;
  void add(size_t first, size_t count, const void* module_call);
  size_t cut(const PyThreadState* state, const void* module_call);

  MappedArray<Caller, kDeepestRead> new_calls_;  // innermost first
  FrameList frames_;                             // read by the public API
  MappedArray<OpenCall<Note>, kDeepestRead + 1> calls_;
  size_t size_ = 0;
  size_t known_ = 0;  // the outermost of them that were open at the look before the last one
};

template <class Note>
size_t OpenCalls<Note>::look_fast(const PyThreadState* state, const void* module_call) {
  size_t count = 0;
  size_t known = 0;
  size_t kept = 0;
  const RawFrame* called = nullptr;
  for (RawFrame* frame = top_frame(state); frame != nullptr;
       called = frame, frame = outer_of(frame)) {
    if (!has_code(frame))
      continue;
    const size_t index = find({frame, called});
    if (index < size_) {
      FrameRef& place = calls_[index].place;
      known = index + 1;
      kept = place.instruction == instruction_of(frame) ? known : index;
      place.instruction = instruction_of(frame);
      break;
    }
    if (count == kDeepestRead)
      return cut(state, module_call);
    new_calls_[count++] = {frame, called};
  }
  if (known + count > kDeepestRead)
    return cut(state, module_call);
  known_ = known;
  add(known, count, module_call);
  return kept;
}

// Returns the index of this call at the last look, or the number of calls if it was not open then.
// A debugger that sets the line of a waiting frame does not erase its mark.
template <class Note>
size_t OpenCalls<Note>::find(const Caller& caller) const {
  const auto index = static_cast<size_t>(mark_of(caller));
  if (index >= size_ || calls_[index].frame != caller.frame)
    return size_;
  const bool has_place =
      !calls_without_c(caller) || calls_[index].place.instruction == instruction_of(caller.frame);
  return has_place ? index : size_;
}

template <class Note>
void OpenCalls<Note>::add(size_t first, size_t count, const void* module_call) {
  size_ = first;
  while (count-- > 0) {
    const Caller& caller = new_calls_[count];
    OpenCall<Note>& call = calls_[size_];
    call.frame = set_mark(caller, static_cast<int32_t>(size_)) ? caller.frame : nullptr;
    call.place = place_of(caller.frame, module_call);
    ++size_;
  }
}

template <class Note>
size_t OpenCalls<Note>::cut(const PyThreadState* state, const void* module_call) {
  size_ = kFramesOfCut + 1;
  known_ = 0;
  size_t index = kFramesOfCut;
  for (const RawFrame* frame = top_frame(state); index > 0; frame = outer_of(frame)) {
    if (!has_code(frame))
      continue;
    calls_[index].frame = nullptr;
    calls_[index--].place = place_of(frame, module_call);
  }
  calls_[0].frame = nullptr;
  calls_[0].place = kCutFrames;
  return 0;
}

template <class Note>
size_t OpenCalls<Note>::look_public(PyThreadState* state, const void* module_call) {
  frames_.clear();
  if (!read_frames_public(state, module_call, frames_, kFramesOfCut))
    frames_.push_back(kCutFrames);
  size_ = known_ = 0;
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
    calls_[size_].frame = nullptr;
    calls_[size_++].place = *frame;
  }
  return 0;
}

}  // namespace perfprobe
