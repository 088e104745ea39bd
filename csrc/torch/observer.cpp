#include "torch/observer.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <pthread.h>
#include <stdexcept>
#include <utility>

#include <ATen/record_function.h>

#include "core/clock.h"
#include "torch/find_signature.h"
#include "torch/memory_watch.h"
#include "torch/operand_reuse.h"
#include "torch/operator_ranges.h"
#include "torch/own_time.h"
#include "torch/parameters.h"
#include "torch/registration.h"
#include "torch/stacks.h"
#include "torch/tensor_values.h"
#include "torch/thread_state.h"

namespace perfprobe {
namespace {

// The current recording. 0: none, or a forked child whose parent goes on recording.
std::atomic<uint32_t> current_generation{0};
uint32_t last_generation = 0;
RecorderPort* current_port = nullptr;
BudgetPort* current_budget = nullptr;
Emitter* current_emitter = nullptr;
std::atomic<const ExternalIdPort*> current_ids{nullptr};
size_t cpu_timed_levels = 0;  // operators with fewer open operators around them have CPU time
bool is_thorough =
    false;  // every operator has CPU time: another microsecond per operator then does not matter
OperandReuse& reuse = *new OperandReuse();  // never destroyed: threads may outlive static objects
Threads recorded_threads = Threads::all;
Registration registration;
std::atomic<bool> is_switched_off{false};
// Whose end is not to be recorded: see `drop_open`.
std::atomic<const at::RecordFunction*> unrecorded{nullptr};

// initial-exec: one instruction per access instead of a call; takes eight bytes of static TLS.
[[gnu::tls_model("initial-exec")]] thread_local ThreadState* thread_state = nullptr;

struct ThreadEnd {
  ~ThreadEnd() {
    if (thread_state == nullptr)
      return;
    thread_state->finish();
    delete thread_state;
    thread_state = nullptr;
  }
  bool armed = false;
};
thread_local ThreadEnd thread_end;

[[gnu::noinline]] ThreadState& begin_thread(uint32_t generation) {
  if (thread_state == nullptr) {
    thread_state = new ThreadState();
    thread_end.armed = true;  // the first use registers its destructor
  }
  thread_state->begin(current_port, current_budget, current_emitter, generation);
  return *thread_state;
}

ThreadState& state_of_thread(uint32_t generation) {
  ThreadState* state = thread_state;
  return state != nullptr && state->generation == generation ? *state : begin_thread(generation);
}

using Inputs = c10::ArrayRef<const c10::IValue>;

// Sets the backward node that `open` runs in: its own, or that of its parent.
// perfprobe/models/nodes.py has the same rules.
void set_node(OpenOperator* parent, OpenOperator& open, bool is_node) {
  open.node_sequence = parent == nullptr ? kNone : parent->node_sequence;
  open.node_thread = parent == nullptr ? kNone : parent->node_thread;
  if (is_node) {
    open.node_sequence = open.sequence;
    open.node_thread = open.forward_thread == kNone ? 0 : open.forward_thread;
    // The engine's own work around a node belongs to the node.
    if (parent != nullptr && parent->is_engine) {
      parent->node_sequence = open.node_sequence;
      parent->node_thread = open.node_thread;
    }
  } else if (open.is_engine) {
    open.node_sequence = kNone;
    open.node_thread = 0;
  }
}

// Operators open above `depth` ended on other threads or will never end.
[[gnu::noinline]] void drop_above(ThreadState& state, size_t depth) {
  for (size_t dropped = state.open.size(); dropped > depth; --dropped)
    state.port->count_dropped(Dropped::open_end);
  state.unwind(depth);
}

// Returns the thread's page faults so far.
[[gnu::noinline]] int64_t begin_counting(ThreadState& state, const at::RecordFunction& function,
                                         const NameSlot& slot, const OpenOperator& open) {
  const Inputs inputs =
      slot.is_operator ? inputs_of(function, static_cast<size_t>(slot.arguments)) : Inputs();
  reuse.begin(state.operands, state.open.size(), slot.touches, open.signature, inputs);
  return thread_faults();
}

std::unique_ptr<at::ObserverContext> open_operator(const at::RecordFunction& function) {
  std::unique_ptr<at::ObserverContext> context;
  const uint32_t generation = current_generation.load(std::memory_order_acquire);
  if (generation == 0 || is_switched_off.load(std::memory_order_relaxed))
    return context;
  ThreadState& state = state_of_thread(generation);
  const int64_t begin_ticks = state.begin_own_time();
  if (state.open.full())  // only happens if thousands of ranges ended on other threads
    drop_above(state, 0);
  OpenOperator* parent = state.open.parent();
  OpenOperator& open = state.open.next();
  const NameSlot& slot = state.names.find(function, *state.port);
  open.function = &function;
  open.name = slot.name;
  open.overload = slot.overload;
  open.is_engine = slot.is_engine;
  open.sequence = function.seqNr();
  open.scope = static_cast<int32_t>(function.scope());
  const bool is_node = function.scope() == at::RecordScope::BACKWARD_FUNCTION;
  open.stands_still = slot.is_operator || slot.is_engine || is_node;
  const uint64_t forward_thread = function.forwardThreadId();
  open.forward_thread = forward_thread == 0 ? kNone : static_cast<int32_t>(forward_thread);
  set_node(parent, open, is_node);
  open.signature = find_signature(state, function, slot, is_thorough);
  if (slot.accumulates && is_node) [[unlikely]]
    set_holder(state, parent, open);
  open.stack = find_stack(state, parent, open);
  open.follows = 0;
  if (state.emitter != nullptr) [[unlikely]]
    context = begin_range(state, function, slot, parent, open);
  open.start_faults = is_thorough ? begin_counting(state, function, slot, open) : kNone;
  open.start_cpu_ns = state.open.size() < cpu_timed_levels ? thread_cpu_ns() : kNone;
  open.start_ticks = state.look_at_wait(read_ticks());
  const ExternalIdPort* ids = current_ids.load(std::memory_order_acquire);
  if (ids != nullptr && !function.isAsync()) [[unlikely]] {
    ids->push(ids->kind, static_cast<uint64_t>(open.start_ticks));
    state.ids = ids;
    open.follows |= kId;
  }
  if (begin_ticks != 0) [[unlikely]]
    open.add_own_time(begin_ticks);
  state.open.push();
  return context;
}

// torch would print a line for every operator if this exception reached it. Only this one is
// caught: the unwinding by which an ending interpreter stops a daemon thread must go on.
std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  try {
    return open_operator(function);
  } catch (const std::bad_alloc&) {
    current_port->count_dropped(Dropped::no_memory);
  }
  return nullptr;
}

// Handles an end out of order: operators above it ended elsewhere or never. Returns false if it is
// not open on this thread.
[[gnu::noinline]] bool drop_unfinished(ThreadState& state, const at::RecordFunction& function) {
  size_t depth = state.open.size();
  while (depth > 0 && state.open[depth - 1].function != &function)
    --depth;
  if (depth == 0) {
    const at::RecordFunction* expected = &function;
    if (!unrecorded.compare_exchange_strong(expected, nullptr))
      state.port->count_dropped(Dropped::foreign_end);
    return false;
  }
  drop_above(state, depth);
  return true;
}

OperatorRecord* room_for_row(ThreadState& state) {
  try {
    return state.next_row();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// Its recording has ended. Only its range and its external id are still to be ended.
[[gnu::noinline]] void end_late(ThreadState& state, const at::RecordFunction& function) {
  if (state.open.empty() || state.open.top().function != &function)
    return;
  state.open.top().follows &= kRange | kId;
  state.unwind(state.open.size() - 1);
}

int32_t faults_since(int64_t start) {
  return start == kNone ? kNone : static_cast<int32_t>(thread_faults() - start);
}

void on_end(const at::RecordFunction& function, at::ObserverContext* context) {
  const int64_t end_ticks = read_ticks();
  if (context != nullptr) [[unlikely]]
    end_async_range(*context);
  const uint32_t generation = current_generation.load(std::memory_order_acquire);
  ThreadState* state = thread_state;
  if (state == nullptr)
    return;
  if (generation == 0 || state->generation != generation)
    return end_late(*state, function);
  const bool in_order = !state->open.empty() && state->open.top().function == &function;
  if (!in_order && !drop_unfinished(*state, function))
    return;
  const OpenOperator& open = state->open.top();
  const auto depth = static_cast<int16_t>(state->open.size() - 1);
  const int64_t cpu_ns = open.start_cpu_ns == kNone ? kNone : thread_cpu_ns() - open.start_cpu_ns;
  const int32_t faults = faults_since(open.start_faults);
  if (open.start_faults != kNone) [[unlikely]]
    reuse.end(state->operands, state->open.size() - 1, function.outputs());
  OperatorRecord* row = room_for_row(*state);
  if (row == nullptr) {
    state->port->count_dropped(Dropped::no_memory);
  } else {
    *row = {.start_ticks = open.start_ticks,
            .end_ticks = end_ticks,
            .cpu_ns = cpu_ns,
            .sequence = open.sequence,
            .node_sequence = open.node_sequence,
            .name = open.name,
            .overload = open.overload,
            .signature = open.signature,
            .stack = open.stack,
            .forward_thread = open.forward_thread,
            .node_thread = open.node_thread,
            .depth = depth,
            .scope = static_cast<int16_t>(open.scope),
            .faults = faults};
    state->publish_row();
  }
  if (open.follows != 0) [[unlikely]]
    state->unfollow(open, end_ticks);
  state->open.pop();
  state->look_at_wait(end_ticks);
}

size_t timed_levels(CpuTime cpu_time) {
  constexpr size_t kOutermost = 1;
  if (cpu_time == CpuTime::off)
    return 0;
  return cpu_time == CpuTime::outermost ? kOutermost : OpenStack::kDeepest;
}

void put_callbacks() {
  registration.put(at::RecordFunctionCallback(on_start, on_end).needsInputs(true),
                   observed_scopes(), recorded_threads, is_thorough);
}

// A forked child records nothing until it starts its own recording.
void forget_in_child() {
  current_generation = 0;
  current_ids = nullptr;  // for the GPU, which a child does not record
  registration.keep_in_child();
  reuse.forget_in_child();
  forget_memory_in_child();
  forget_emitters();
  if (std::exchange(current_budget, nullptr) != nullptr)
    is_switched_off = false;  // set by the parent's budget, which does not hold here
  if (thread_state == nullptr)
    return;
  thread_state->budget = nullptr;
  // The chunks belong to the parent's recorder, whose locks may never be released in the child.
  thread_state->chunk = thread_state->memory_chunk = nullptr;
  thread_state->open.clear();  // its ranges belong to the parent too
  thread_state->emitter = nullptr;
}

}  // namespace

void start_observer(RecorderPort& port, CpuTime cpu_time, Threads threads, Emitter* emitter,
                    BudgetPort* budget) {
  static const int fork_handler = pthread_atfork(nullptr, nullptr, forget_in_child);
  static_cast<void>(fork_handler);
  if (current_generation != 0)
    throw std::runtime_error("the operator observer is already running");
  current_port = &port;
  cpu_timed_levels = timed_levels(cpu_time);
  is_thorough = cpu_time == CpuTime::all;
  if (is_thorough)
    reuse.clear();
  recorded_threads = threads;
  current_emitter = emitter;
  current_budget = budget;
  ticks_are_tsc = port.takes_tsc();
  if (emitter != nullptr)
    emitter->training.start();
  own_time.clear();
  current_generation.store(++last_generation, std::memory_order_release);
  if (!is_switched_off)
    put_callbacks();
  if (budget != nullptr)
    budget->set_switch(&switch_observer);
}

void switch_observer(bool on) {
  if (is_switched_off.exchange(!on) == !on || current_generation == 0)
    return;
  if (on)
    put_callbacks();
  else
    registration.remove();
}

bool is_switched_on() {
  return !is_switched_off;
}

void adopt(const at::RecordFunction& function) {
  on_start(function);
}

void end_adopted(const at::RecordFunction& function) {
  on_end(function, nullptr);
}

void drop_open(const at::RecordFunction& function) {
  ThreadState* state = thread_state;
  unrecorded = &function;
  if (state != nullptr && !state->open.empty() && state->open.top().function == &function)
    state->unwind(state->open.size() - 1);
}

void hand_on_ids(const ExternalIdPort* ids) {
  current_ids.store(ids, std::memory_order_release);
}

void stop_observer() {
  if (current_generation == 0)
    return;
  if (std::exchange(current_budget, nullptr) != nullptr)
    is_switched_off = false;
  current_generation = 0;
  current_ids = nullptr;
  registration.remove();
  if (thread_state != nullptr)
    thread_state->unwind(0);
  if (current_emitter != nullptr)
    current_emitter->training.stop();
}

void let_go_in_child() {
  if (current_generation == 0)
    registration.remove();
}

OperandReuse::Rows operand_reuse() {
  return is_thorough ? reuse.rows() : OperandReuse::Rows();
}

bool messages_full() {
  return current_emitter != nullptr && current_emitter->messages.full();
}

bool is_recording() {
  return current_generation.load(std::memory_order_acquire) != 0 && !is_switched_off &&
         recorded_threads == Threads::all;
}

ThreadState* recording_thread() {
  const uint32_t generation = current_generation.load(std::memory_order_acquire);
  return generation == 0 || recorded_threads != Threads::all ? nullptr
                                                             : &state_of_thread(generation);
}

void count_dropped_row() {
  current_port->count_dropped(Dropped::no_memory);
}

at::StepCallbacks own_callbacks(at::RecordScope scope) {
  at::StepCallbacks made(at::RecordFunction::currentThreadId(), scope);
  if (at::isRecordFunctionEnabled()) {
    made.callbacks_.push_back({on_start, on_end});
    made.needs_inputs_ = true;
  }
  return made;
}

}  // namespace perfprobe
