#include "torch/loop_watch.h"

#include <atomic>
#include <bit>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ATen/record_function.h>

#include "core/clock.h"
#include "core/hash.h"
#include "python/frames.h"
#include "python/held_signals.h"
#include "torch/batch_size.h"
#include "torch/gil.h"
#include "torch/observer.h"
#include "torch/own_time.h"
#include "torch/registration.h"
#include "torch/step_parts.h"

namespace perfprobe {
namespace {

std::atomic<LoopPort*> current_loop{nullptr};
PyObject* optimizer_class = nullptr;
std::atomic<bool> has_optimizer{false};
std::atomic<uint32_t> batches_asked{0};
Registration loop_registration;
std::atomic<const at::RecordFunction*> adopted{nullptr};

int64_t os_thread() {
  thread_local const auto id = static_cast<int64_t>(::syscall(SYS_gettid));
  return id;
}

// The same for the same line of the same callers.
uint64_t site() {
  PyThreadState* python = PyGILState_GetThisThreadState();
  if (python == nullptr)
    return 0;
  thread_local FrameList frames;
  frames.clear();
  if (frames_fit()) {
    read_frames_fast(python, nullptr, frames);
  } else {
    const Gil gil;
    read_frames_public(python, nullptr, frames);
  }
  Hasher hasher;
  for (const FrameRef& frame : frames)
    hasher.add(reinterpret_cast<uint64_t>(frame.code), static_cast<uint32_t>(frame.instruction));
  return hasher.result().low;
}

// torch marks the step of a class when its first object is made. Asked without Python code: no
// profile function sees it.
bool is_made(PyObject* kind, int depth) {
  constexpr int kMostLevels = 8;
  PyObject* step = PyObject_GetAttrString(kind, "step");
  PyObject* hooked = step == nullptr ? nullptr : PyObject_GetAttrString(step, "hooked");
  bool found = hooked == Py_True;
  Py_XDECREF(hooked);
  Py_XDECREF(step);
  PyErr_Clear();
  PyObject* below = found || depth == kMostLevels
                        ? nullptr
                        : PyObject_CallMethod(kind, "__subclasses__", nullptr);
  for (Py_ssize_t i = 0; below != nullptr && !found && i < PyList_GET_SIZE(below); ++i)
    found = is_made(PyList_GET_ITEM(below, i), depth + 1);
  Py_XDECREF(below);
  PyErr_Clear();
  return found;
}

// Asked at the first, second, fourth, eighth ... batch until one is there.
bool has_made_optimizer() {
  if (has_optimizer || !std::has_single_bit(++batches_asked))
    return has_optimizer;
  const Gil gil;
  const HeldSignals held;  // the attributes of the program's classes may be computed
  if (PyErr_Occurred() == nullptr)
    has_optimizer = is_made(optimizer_class, 0);
  return has_optimizer;
}

void tell(LoopEvent event, uint64_t where = 0, int64_t samples = kNotKnown, bool made = false) {
  LoopPort* port = current_loop.load(std::memory_order_acquire);
  if (port != nullptr)
    port->see({.event = event,
               .has_optimizer = made,
               .time_ns = monotonic_ns(),
               .os_thread = os_thread(),
               .site = where,
               .samples = samples});
}

void begin_part(const at::RecordFunction& function) {
  switch (part_of(function.name())) {
    case Part::next: {
      const bool made = has_made_optimizer();
      tell(LoopEvent::next_begin, site(), kNotKnown, made);
      break;
    }
    case Part::update:
      has_optimizer = true;
      tell(LoopEvent::update_begin);
      break;
    case Part::profiler:
      tell(LoopEvent::profiler_begin);
      break;
    case Part::none:
      break;
  }
}

std::unique_ptr<at::ObserverContext> part_begins(const at::RecordFunction& function) {
  if (current_loop.load(std::memory_order_relaxed) == nullptr)
    return nullptr;
  const bool was_on = is_switched_on();
  begin_part(function);
  if (is_switched_on() == was_on)
    return nullptr;
  if (was_on) {
    drop_open(function);
  } else {
    adopted = &function;
    adopt(function);
  }
  return nullptr;
}

void part_ends(const at::RecordFunction& function, at::ObserverContext* /*context*/) {
  if (current_loop.load(std::memory_order_relaxed) == nullptr)
    return;
  if (adopted.load(std::memory_order_relaxed) == &function) {
    adopted = nullptr;
    end_adopted(function);
  }
  switch (part_of(function.name())) {
    case Part::next:
      tell(LoopEvent::next_end, 0, samples_of_batch());
      break;
    case Part::update:
      tell(LoopEvent::update_end, site());
      break;
    case Part::profiler:
      tell(LoopEvent::profiler_end);
      break;
    case Part::none:
      break;
  }
}

void forget_loop_in_child() {
  current_loop = nullptr;
  loop_registration.keep_in_child();
}

}  // namespace

void watch_loop(LoopPort& port, PyObject* optimizer) {
  static const int fork_handler = pthread_atfork(nullptr, nullptr, forget_loop_in_child);
  static_cast<void>(fork_handler);
  if (optimizer_class == nullptr)
    optimizer_class = Py_NewRef(optimizer);
  has_optimizer = false;
  batches_asked = 0;
  current_loop.store(&port, std::memory_order_release);
  loop_registration.put(at::RecordFunctionCallback(part_begins, part_ends),
                        {at::RecordScope::USER_SCOPE}, Threads::all, /*needs_outputs=*/false);
  port.set_switch(switch_observer, [] { return own_time.spent_ns(); });
}

void unwatch_loop() {
  LoopPort* port = current_loop.exchange(nullptr);
  if (port == nullptr)
    return;
  port->set_switch(nullptr, nullptr);
  loop_registration.remove();
  switch_observer(true);
}

void let_go_of_loop_in_child() {
  if (current_loop == nullptr)
    loop_registration.remove();
}

}  // namespace perfprobe
