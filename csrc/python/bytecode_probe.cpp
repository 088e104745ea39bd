#include "python/bytecode_probe.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include <opcode.h>

#if PY_VERSION_HEX < 0x030B0000
#include <frameobject.h>
#endif

#include "core/address_range.h"
#include "core/clock.h"
#include "python/call_profile.h"
#include "python/frames.h"

namespace perfprobe {
namespace {

// An instruction that only pushes a value. Unlike calls, operators and conditions, it never runs
// native code for long.
bool only_loads(int opcode) {
  switch (opcode) {
    case LOAD_CONST:
    case LOAD_DEREF:
    case LOAD_FAST:
    case LOAD_GLOBAL:
    case LOAD_NAME:
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000
    case LOAD_CONST__LOAD_FAST:
    case LOAD_FAST__LOAD_CONST:
    case LOAD_FAST__LOAD_FAST:
    case LOAD_GLOBAL_ADAPTIVE:
    case LOAD_GLOBAL_BUILTIN:
    case LOAD_GLOBAL_MODULE:
    case PUSH_NULL:
#endif
      return true;
    default:
      return false;
  }
}

// Where a thread is: the addresses that say so, and what they said.
struct Place {
  const void* top = nullptr;  // holds the address of the current frame
  const void* frame = nullptr;
  const void* next = nullptr;  // holds `instruction`
  uint64_t instruction = 0;
  unsigned char opcode = 0;
  bool is_slowed = false;
};

#if PY_VERSION_HEX < 0x030C0000

// The main thread may free this memory at the same time. OwnMemory then reports an error, and a
// plain read would fault.
bool read_place(const OwnMemory& memory, const PyThreadState* state, Place& place) {
#if PY_VERSION_HEX >= 0x030B0000
  _PyCFrame* evaluation = nullptr;
  _PyCFrame found{};
  if (!memory.read(&state->cframe, evaluation) || !memory.read(evaluation, found))
    return false;
  place.top = part_of(evaluation, offsetof(_PyCFrame, current_frame));
  place.frame = found.current_frame;
  place.next = part_of(place.frame, offsetof(_PyInterpreterFrame, prev_instr));
  place.is_slowed = found.use_tracing != 0;
  return memory.read(place.next, place.instruction) &&
         memory.read(reinterpret_cast<const void*>(place.instruction), place.opcode);
#else
  PyCodeObject* code = nullptr;
  PyObject* bytes = nullptr;
  int last = 0;
  place.top = &state->frame;
  if (!memory.read(place.top, place.frame))
    return false;
  place.next = part_of(place.frame, offsetof(PyFrameObject, f_lasti));
  place.is_slowed = true;
  if (!memory.read(place.next, last) ||
      !memory.read(part_of(place.frame, offsetof(PyFrameObject, f_code)), code) ||
      !memory.read(part_of(code, offsetof(PyCodeObject, co_code)), bytes))
    return false;
  const size_t offset = offsetof(PyBytesObject, ob_sval) + sizeof(_Py_CODEUNIT) * last;
  return memory.read(place.next, place.instruction) &&
         memory.read(part_of(bytes, offset), place.opcode);
#endif
}

// Takes a microsecond, in which a thread that executes instructions comes to another one.
bool has_moved(const OwnMemory& memory, const Place& place) {
  const void* frame = nullptr;
  uint64_t instruction = 0;
  const std::array<MemoryPiece, 2> pieces{
      {{place.top, &frame, sizeof(frame)}, {place.next, &instruction, sizeof(instruction)}}};
  return !memory.read(pieces) || frame != place.frame || instruction != place.instruction;
}

constexpr bool kKnowsPlaces = true;

#else

constexpr bool kKnowsPlaces = false;

bool read_place(const OwnMemory& /*memory*/, const PyThreadState* /*state*/, Place& /*place*/) {
  return false;
}

bool has_moved(const OwnMemory& /*memory*/, const Place& /*place*/) {
  return false;
}

#endif

}  // namespace

void BytecodeProbe::begin() {
  if (!kKnowsPlaces || ::syscall(SYS_gettid) != ::getpid() ||
      ::pthread_getcpuclockid(::pthread_self(), &clock_) != 0)
    return;
  state_ = PyThreadState_Get();
  looked_ns_ = read_clock_ns(clock_);
  looks_ = true;
  set_alarm();
}

void BytecodeProbe::set_alarm() {
  if (gap_ns_ < kRestNs)
    recorder_.set_alarm(monotonic_ns() + gap_ns_, &BytecodeProbe::look, this);
  else
    recorder_.set_heartbeat_alarm(&BytecodeProbe::look, this);
}

// Runs on the writer's thread, without the GIL.
void BytecodeProbe::look(void* probe) {
  auto* self = static_cast<BytecodeProbe*>(probe);
  if (!self->looks_)
    return;
  const int64_t used_ns = read_clock_ns(self->clock_);
  const int64_t ran_ns = used_ns - std::exchange(self->looked_ns_, used_ns);
  Place place;
  if (ran_ns > 0 && read_place(self->memory_, self->state_, place) && place.is_slowed) {
    const auto judged_ns = static_cast<double>(std::min(ran_ns, kMostJudgedNs));
    if (has_moved(self->memory_, place))
      self->seen_ns_ += static_cast<int64_t>(judged_ns);
    else if (only_loads(place.opcode))
      self->seen_ns_ += static_cast<int64_t>(judged_ns / kLoads);
    if (self->seen_ns_ >= kManyNs)
      self->hurry();
  }
  self->gap_ns_ = ran_ns > 0 ? kGapNs : std::min(2 * self->gap_ns_, kRestNs);
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
