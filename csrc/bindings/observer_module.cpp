// The extension module perfprobe._observer: built against, and loaded after, the installed torch.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/record_function.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings/capsule.h"
#include "core/budget_port.h"
#include "core/device_memory_port.h"
#include "core/emission_port.h"
#include "core/loop_port.h"
#include "core/recorder_port.h"
#include "python/frame_layout.h"
#include "torch/calibration.h"
#include "torch/compiled_kernel.h"
#include "torch/device_memory.h"
#include "torch/emitter.h"
#include "torch/loop_watch.h"
#include "torch/memory_watch.h"
#include "torch/observer.h"
#include "torch/own_time.h"
#include "torch/recorded_method.h"
#include "torch/stacks.h"

namespace py = pybind11;

namespace perfprobe {
namespace {

// Measured once; later recordings of the process reuse it.
std::optional<double> event_cost_ns;
std::optional<double> trial_own_ns;  // the part of it that an operator's own recorded time includes
std::optional<double> empty_ns;
std::optional<double> timed_event_cost_ns;  // cost if the CPU time of every operator is read
std::optional<double> empty_cpu_ns;

using Folders = std::vector<std::pair<std::string, bool>>;

Emitter* emitter_for(const py::object& ranges, const Folders& folders) {
  if (ranges.is_none())
    return nullptr;
  Emitter& emitter = emitter_of(pointed_by<const EmissionPort>(ranges, kEmissionCapsule));
  emitter.lines.set_folders(folders);
  return &emitter;
}

void hand_on(const py::object& ids) {
  hand_on_ids(ids.is_none() ? nullptr
                            : &pointed_by<const ExternalIdPort>(ids, kExternalIdsCapsule));
}

CpuTime cpu_time_of(const std::string& name) {
  if (name == "off")
    return CpuTime::off;
  if (name == "outermost" || name == "all")
    return name == "all" ? CpuTime::all : CpuTime::outermost;
  throw py::value_error("cpu_time: off, outermost or all");
}

void start(const py::capsule& recorder, const py::object& module_call, const std::string& cpu_time,
           const py::object& ranges, const Folders& folders, const py::object& budget) {
  auto& port = pointed_by<RecorderPort>(recorder, kRecorderCapsule);
  const CpuTime timed = cpu_time_of(cpu_time);
  Emitter* emitter = emitter_for(ranges, folders);
  // Kept for ever: frames that call an nn.Module are recognized by its address.
  set_module_call(module_call.inc_ref().ptr());
  static const bool tested = (run_self_test(), true);
  static_cast<void>(tested);
  // Not with the program's own profiler active: it would record the thousands of calls of this.
  if (!event_cost_ns && !at::hasThreadLocalCallbacks()) {
    event_cost_ns = measure_event_cost_ns(/*cpu_timed=*/false);
    trial_own_ns = own_time.event_ns();
    empty_ns = measure_empty_ns();
    own_time.set_beside(std::max(*event_cost_ns - *trial_own_ns, 0.0));
  }
  if (timed == CpuTime::all && !timed_event_cost_ns && !at::hasThreadLocalCallbacks()) {
    timed_event_cost_ns = measure_event_cost_ns(/*cpu_timed=*/true);
    empty_cpu_ns = measure_empty_cpu_ns();
  }
  BudgetPort* limit = budget.is_none() ? nullptr : &pointed_by<BudgetPort>(budget, kBudgetCapsule);
  start_observer(port, timed, Threads::all, emitter, limit);
}

py::dict reuse_columns() {
  const OperandReuse::Rows rows = operand_reuse();
  py::dict columns;
  columns["signature"] = rows.signature;
  columns["operand"] = rows.operand;
  columns["same_as"] = rows.same_as;
  columns["bucket"] = rows.bucket;
  columns["calls"] = rows.calls;
  columns["back_bytes"] = rows.back_bytes;
  return columns;
}

py::object compiled_kernel(const py::str& name, const py::object& kernel) {
  PyObject* made = wrap_compiled_kernel(name.ptr(), kernel.ptr());
  if (made == nullptr)
    throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}

py::object recorded_method(const py::object& function, const py::object& names,
                           const py::object& name_of, bool is_range) {
  if (!py::isinstance<py::str>(names) && !py::isinstance<py::dict>(names))
    throw py::type_error("names: a str or a dict");
  const auto scope = is_range ? at::RecordScope::USER_SCOPE : at::RecordScope::FUNCTION;
  PyObject* made = wrap_method(function.ptr(), names.ptr(), name_of.ptr(), scope);
  if (made == nullptr)
    throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}

}  // namespace
}  // namespace perfprobe

PYBIND11_MODULE(_observer, module) {
  using namespace perfprobe;
  module.doc() = "The operator observer of perfprobe, built for one version of torch.";
  check_frame_layout();
  module.attr("TORCH_VERSION") = PERFPROBE_TORCH_VERSION;
  module.def("start", &start, py::arg("recorder"), py::arg("module_call"), py::arg("cpu_time"),
             py::arg("ranges") = py::none(), py::arg("folders") = Folders(),
             py::arg("budget") = py::none());
  module.def("hand_on_ids", &hand_on, py::arg("ids"));
  module.def("stop", [] {
    unwatch_memory();
    stop_observer();
  });
  module.def("let_go_in_child", [] {
    let_go_in_child();
    let_go_of_loop_in_child();
  });
  module.def("watch_memory", &watch_memory);
  module.def(
      "watch_loop",
      [](const py::capsule& port, const py::object& optimizer) {
        watch_loop(pointed_by<LoopPort>(port, kLoopCapsule), optimizer.ptr());
      },
      py::arg("port"), py::arg("optimizer"));
  module.def("unwatch_loop", &unwatch_loop);
  module.def(
      "watch_device_memory",
      [](const py::capsule& port) {
        watch_device_memory(pointed_by<DeviceMemoryPort>(port, kDeviceMemoryCapsule));
      },
      py::arg("port"));
  module.def("unwatch_device_memory", &unwatch_device_memory);
  module.def("device_memory_fault", &device_memory_fault);
  module.def("operand_reuse", &reuse_columns);
  module.def("messages_full", &messages_full);
  module.def("compiled_kernel", &compiled_kernel, py::arg("name"), py::arg("kernel"));
  module.def("recorded_method", &recorded_method, py::arg("function"), py::arg("names"),
             py::arg("name_of") = py::none(), py::arg("is_range") = false);
  module.def("event_cost_ns", [] { return event_cost_ns; });
  module.def("trial_own_ns", [] { return trial_own_ns; });
  module.def("own_event_ns", [] { return own_time.event_ns(); });
  module.def("empty_ns", [] { return empty_ns; });
  module.def("timed_event_cost_ns", [] { return timed_event_cost_ns; });
  module.def("empty_cpu_ns", [] { return empty_cpu_ns; });
  module.def("cpu_read_ns", &measure_cpu_read_ns);
  module.def("null_callbacks", &add_null_callbacks, py::arg("needs_inputs"));
  module.def("remove_null_callbacks", &remove_null_callbacks);
}
