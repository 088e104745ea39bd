#include "torch/registration.h"

namespace perfprobe {
namespace {

Registration null_callbacks;

std::unique_ptr<at::ObserverContext> null_start(const at::RecordFunction& /*function*/) {
  return nullptr;
}
void null_end(const at::RecordFunction& /*function*/, at::ObserverContext* /*context*/) {}

}  // namespace

void Registration::put(at::RecordFunctionCallback made, const Scopes& scopes, Threads threads,
                       bool needs_outputs) {
  if (is_inherited_ && threads_ == threads && needs_outputs_ == needs_outputs)
    return;
  is_inherited_ = false;
  remove();
  made.scopes(scopes);
  made.needsOutputs(needs_outputs);
  handle_ =
      threads == Threads::all ? at::addGlobalCallback(made) : at::addThreadLocalCallback(made);
  threads_ = threads;
  needs_outputs_ = needs_outputs;
}

void Registration::remove() {
  if (is_inherited_ || handle_ == at::INVALID_CALLBACK_HANDLE)
    return;
  at::removeCallback(handle_);
  handle_ = at::INVALID_CALLBACK_HANDLE;
}

void add_null_callbacks(bool needs_inputs) {
  null_callbacks.remove();
  null_callbacks.put(at::RecordFunctionCallback(null_start, null_end).needsInputs(needs_inputs),
                     observed_scopes(), Threads::all, /*needs_outputs=*/false);
}

void remove_null_callbacks() {
  null_callbacks.remove();
}

}  // namespace perfprobe
