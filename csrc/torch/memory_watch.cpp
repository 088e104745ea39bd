#include "torch/memory_watch.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <unordered_set>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <torch/csrc/autograd/python_variable.h>

#include "core/clock.h"
#include "python/module_tree.h"
#include "torch/observer.h"
#include "torch/stacks.h"

namespace perfprobe {
namespace {

std::atomic<bool> is_watching{false};
c10::DeleterFnPtr inner_deleter = nullptr;

int64_t storage_id(const void* address) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(address) >> MemoryRecord::kAlignedBits);
}

void write_row(ThreadState& state, const MemoryRecord& record) {
  MemoryRecord* row = state.next_memory_row();
  if (row == nullptr)
    return count_dropped_row();
  *row = record;
  state.publish_memory_row();
}

// Returns the stack of an allocation outside of operators. Only for a thread that has the GIL: a
// thread without it must not wait for it, because it may hold a lock that the GIL's owner needs.
int32_t stack_outside(ThreadState& state) {
  const OpenOperator* open = state.open.parent();
  if (open != nullptr && open->stands_still)
    return kNone;
  if (state.open.full() || PyGILState_Check() == 0)
    return kNone;
  OpenOperator& scratch = state.open.next();
  scratch.stands_still = false;
  return find_stack(state, nullptr, scratch);
}

void note_allocation(const void* address, size_t bytes) try {
  ThreadState* state = recording_thread();
  if (state == nullptr)
    return;
  const int32_t stack = stack_outside(*state);
  write_row(*state, {.ticks = read_ticks(),
                     .storage = storage_id(address),
                     .size_bytes = static_cast<int64_t>(bytes),
                     .stack = stack,
                     .event = MemoryEvent::allocated});
} catch (const std::bad_alloc&) {
  count_dropped_row();
}

// Also records while the observer is switched off: memory allocated before may be freed then.
void note_free(const void* address) noexcept try {
  ThreadState* state = is_watching.load(std::memory_order_relaxed) ? recording_thread() : nullptr;
  if (state != nullptr)
    write_row(*state, {.ticks = read_ticks(),
                       .storage = storage_id(address),
                       .size_bytes = kNone,
                       .stack = kNone,
                       .event = MemoryEvent::freed});
} catch (const std::bad_alloc&) {
  count_dropped_row();
}

// The row is written before the memory is freed, so that a later allocation at this address has a
// later time.
void note_and_free(void* address) {
  if (address != nullptr)
    note_free(address);
  inner_deleter(address);
}

class WatchedAllocator final : public c10::Allocator {
 public:
  explicit WatchedAllocator(c10::Allocator* inner) : inner_(inner) {}

  c10::DataPtr allocate(size_t bytes) override {
    c10::DataPtr made = inner_->allocate(bytes);
    if (!is_watching.load(std::memory_order_relaxed) || !is_recording())
      return made;
    const bool is_simple = made.get() != nullptr && made.get() == made.get_context();
    if (is_simple && made.compare_exchange_deleter(inner_deleter, &note_and_free))
      note_allocation(made.get(), bytes);
    return made;
  }
  [[nodiscard]] bool is_simple_data_ptr(const c10::DataPtr& data) const override {
    return inner_->is_simple_data_ptr(data);
  }
  [[nodiscard]] c10::DeleterFnPtr raw_deleter() const override { return &note_and_free; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    inner_->copy_data(to, from, bytes);
  }

  [[nodiscard]] c10::Allocator* inner() const { return inner_; }

 private:
  c10::Allocator* inner_;
};

WatchedAllocator* wrapper = nullptr;

// torch refuses a lower priority than that of the allocator in use, and has no function to read it.
void put_allocator(c10::Allocator* allocator) {
  for (int priority = 0; priority <= std::numeric_limits<uint8_t>::max(); ++priority) {
    c10::SetCPUAllocator(allocator, static_cast<uint8_t>(priority));
    if (c10::GetCPUAllocator() == allocator)
      return;
  }
}

bool make_wrapper(c10::Allocator* current) {
  inner_deleter = current->raw_deleter();
  if (inner_deleter != nullptr)
    wrapper = new WatchedAllocator(current);
  return wrapper != nullptr;
}

void note_tensor(ThreadState& state, const at::Tensor& tensor, MemoryEvent event) {
  if (!tensor.defined() || !tensor.device().is_cpu() || !tensor.has_storage())
    return;
  c10::StorageImpl* storage = tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
  const void* data = storage->_mutable_data_ptr_no_checks().get();
  if (data == nullptr || storage->sym_nbytes().is_heap_allocated())
    return;
  write_row(state, {.ticks = read_ticks(),
                    .storage = storage_id(data),
                    .size_bytes = static_cast<int64_t>(storage->nbytes()),
                    .stack = kNone,
                    .event = event});
}

void note_dict(ThreadState& state, PyObject* tensors, MemoryEvent event) {
  PyObject* value = nullptr;
  for (Py_ssize_t at = 0; tensors != nullptr && PyDict_Next(tensors, &at, nullptr, &value) != 0;) {
    const auto* kind = reinterpret_cast<PyTypeObject*>(THPVariableClass);
    if (PyType_IsSubtype(Py_TYPE(value), const_cast<PyTypeObject*>(kind)) != 0)
      note_tensor(state, THPVariable_Unpack(value), event);
  }
}

void note_tree(ThreadState& state, PyObject* root) {
  std::unordered_set<PyObject*> seen{root};
  std::vector<PyObject*> waiting{root};
  while (!waiting.empty()) {
    PyObject* module = waiting.back();
    waiting.pop_back();
    note_dict(state, own_dict(module, "_parameters"), MemoryEvent::parameter);
    note_dict(state, own_dict(module, "_buffers"), MemoryEvent::buffer);
    PyObject* children = child_modules(module);
    PyObject* child = nullptr;
    for (Py_ssize_t at = 0;
         children != nullptr && PyDict_Next(children, &at, nullptr, &child) != 0;) {
      if (child != Py_None && seen.size() < kModuleLimit && seen.insert(child).second)
        waiting.push_back(child);
    }
  }
}

}  // namespace

bool watch_memory() {
  c10::Allocator* current = c10::GetCPUAllocator();
  if (wrapper == nullptr && !make_wrapper(current))
    return false;
  if (current != wrapper && current != wrapper->inner())
    return false;
  put_allocator(wrapper);
  is_watching = true;
  return true;
}

void unwatch_memory() {
  if (is_watching.exchange(false) && c10::GetCPUAllocator() == wrapper)
    put_allocator(wrapper->inner());
}

bool watches_memory() {
  return is_watching.load(std::memory_order_relaxed);
}

void forget_memory_in_child() {
  is_watching = false;
}

void note_tensors(ThreadState& state, const void* root) {
  const int32_t id = state.port->find_module(root, root).id;
  if (id == kNone || std::ranges::find(state.noted_modules, id) != state.noted_modules.end())
    return;
  state.noted_modules.push_back(id);
  note_tree(state, static_cast<PyObject*>(const_cast<void*>(root)));
}

void note_parameter(ThreadState& state, const at::Tensor& parameter) {
  note_tensor(state, parameter, MemoryEvent::parameter);
}

}  // namespace perfprobe
