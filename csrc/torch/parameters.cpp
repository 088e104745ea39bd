#include "torch/parameters.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/python_variable.h>

#include "python/keep_exception.h"
#include "torch/gil.h"
#include "torch/memory_watch.h"

namespace perfprobe {
namespace {

bool is_alive(const ParameterSlot& slot) {
  return reinterpret_cast<const PyWeakReference*>(slot.weak)->wr_object != Py_None;
}

bool is_current(const ParameterSlot& slot, const RecorderPort& port) {
  return slot.weak == nullptr ? slot.generation == port.modules_named()
                              : slot.generation == port.module_generation() && is_alive(slot);
}

ParameterSlot look_up(RecorderPort& port, const at::Tensor& variable, int32_t signature) {
  const Gil gil;
  const KeepException keep_exception;
  ParameterSlot slot{variable.unsafeGetTensorImpl(), nullptr, kNone, signature, 0};
  PyObject* object = THPVariable_Wrap(variable);
  if (object == nullptr) {
    PyErr_Clear();
    return slot;
  }
  const ModuleRef found = port.find_holder(object);
  Py_DECREF(object);
  slot.module = found.id;
  slot.weak = found.weak;
  slot.generation = found.weak == nullptr ? port.modules_named() : port.module_generation();
  return slot;
}

int32_t holder_of_current(ThreadState& state, int32_t signature) {
  const auto node = torch::autograd::get_current_node();
  const auto* accumulate = dynamic_cast<const torch::autograd::AccumulateGrad*>(node.get());
  if (accumulate == nullptr || !accumulate->variable.defined())
    return kNone;
  if (state.parameters.empty())
    state.parameters.resize(ThreadState::kParameterSlots);
  const void* tensor = accumulate->variable.unsafeGetTensorImpl();
  const size_t place = (reinterpret_cast<uintptr_t>(tensor) >> 5) % ThreadState::kParameterSlots;
  ParameterSlot& slot = state.parameters[place];
  if (slot.tensor != tensor || slot.signature != signature || !is_current(slot, *state.port)) {
    slot = look_up(*state.port, accumulate->variable, signature);
    if (watches_memory())
      note_parameter(state, accumulate->variable);
  }
  return slot.module;
}

}  // namespace

void set_holder(ThreadState& state, OpenOperator* parent, OpenOperator& open) {
  open.node_sequence = node_of_module(holder_of_current(state, open.signature));
  if (parent != nullptr && parent->is_engine)
    parent->node_sequence = open.node_sequence;
}

}  // namespace perfprobe
