#include "python/bytecode_probe.h"

#include <algorithm>
#include <cstddef>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#if PY_VERSION_HEX < 0x030B0000
#include <frameobject.h>
#endif

#include "core/address_range.h"
#include "core/clock.h"
#include "python/call_profile.h"
#include "python/frames.h"

namespace perfprobe {
namespace {

struct Place {
  const void* frame = nullptr;
  int64_t instruction = 0;
  bool is_slowed = false;
  bool operator==(const Place&) const = default;
};

#if PY_VERSION_HEX < 0x030C0000

// The main thread may free this memory at the same time. OwnMemory then reports an error, and a
// plain read would fault.
bool read_place(const OwnMemory& memory, const PyThreadState* state, Place& place) {
#if PY_VERSION_HEX >= 0x030B0000
  _PyCFrame* evaluation = nullptr;
  _PyCFrame found{};
  _Py_CODEUNIT* instruction = nullptr;
  if (!memory.read(&state->cframe, evaluation) || !memory.read(evaluation, found) ||
      !memory.read(part_of(found.current_frame, offsetof(_PyInterpreterFrame, prev_instr)),
                   instruction))
    return false;
  place = {found.current_frame, reinterpret_cast<intptr_t>(instruction), found.use_tracing != 0};
#else
  PyFrameObject* frame = nullptr;
  int instruction = 0;
  if (!memory.read(&state->frame, frame) ||
      !memory.read(part_of(frame, offsetof(PyFrameObject, f_lasti)), instruction))
    return false;
  place = {frame, instruction, true};
#endif
  return true;
}

constexpr bool kKnowsPlaces = true;

#else

constexpr bool kKnowsPlaces = false;

bool read_place(const OwnMemory& /*memory*/, const PyThreadState* /*state*/, Place& /*place*/) {
  return false;
}

#endif

}  // namespace

void BytecodeProbe::begin() {
  if (!kKnowsPlaces || ::syscall(SYS_gettid) != ::getpid() ||
      ::pthread_getcpuclockid(::pthread_self(), &clock_) != 0)
    return;
  state_ = PyThreadState_Get();
  judged_ns_ = read_clock_ns(clock_);
  looks_ = true;
  set_alarm();
}

void BytecodeProbe::set_alarm() {
  if (gap_ns_ < kRestNs)
    recorder_.set_alarm(monotonic_ns() + gap_ns_, &BytecodeProbe::look, this);
  else
    recorder_.set_heartbeat_alarm(&BytecodeProbe::look, this);
}

// Runs on the writer's thread, without the GIL. If the main thread is not running at this moment
// (often because this thread took its processor), the look says nothing, and the next look judges
// that time too.
void BytecodeProbe::look(void* probe) {
  auto* self = static_cast<BytecodeProbe*>(probe);
  if (!self->looks_)
    return;
  Place before;
  Place after;
  const int64_t start_ns = read_clock_ns(self->clock_);
  const bool was_read = read_place(self->memory_, self->state_, before) &&
                        read_place(self->memory_, self->state_, after);
  const int64_t end_ns = read_clock_ns(self->clock_);
  if (was_read && end_ns > start_ns) {
    const int64_t time_ns = std::exchange(self->judged_ns_, end_ns);
    if (before != after && before.is_slowed && after.is_slowed &&
        (self->seen_ns_ += std::min(end_ns - time_ns, kLongestGaps * self->gap_ns_)) >= kManyNs)
      self->hurry();
  }
  const bool has_run = end_ns != std::exchange(self->looked_ns_, end_ns);
  self->gap_ns_ = has_run ? kGapNs : std::min(2 * self->gap_ns_, kRestNs);
  self->set_alarm();
}

// The main thread makes too few calls to settle its costs, so it is asked to. It runs pending calls
// when it gets the GIL back from another thread.
void BytecodeProbe::hurry() {
  if (Py_AddPendingCall(&BytecodeProbe::settle, this) == 0)
    PyGILState_Release(PyGILState_Ensure());
}

int BytecodeProbe::settle(void* probe) {
  auto* self = static_cast<BytecodeProbe*>(probe);
  if (CallProfile::active() == &self->profile_)
    self->profile_.settle();
  return 0;
}

}  // namespace perfprobe
