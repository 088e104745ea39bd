// Lists the tables that native code writes, with the columns that their row types declare.
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "core/definitions.h"
#include "core/device_memory_log.h"
#include "core/live_steps.h"
#include "core/loss.h"
#include "core/memory_encoder.h"
#include "core/module_call_row.h"
#include "core/operator_budget.h"
#include "core/operator_encoder.h"
#include "core/operator_sums.h"
#include "core/processor_use.h"
#include "core/step_sums.h"
#include "core/thread_times.h"
#include "core/wait_readings.h"
#include "core/whole_rows.h"
#include "cpu/perf/instruction_samples.h"
#include "cpu/perf/perf_counters.h"
#include "cpu/sample_rows.h"
#include "cpu/sample_sums.h"
#include "cpu/thread_activity.h"
#include "gpu/gpu_row_types.h"
#include "gpu/range_matcher.h"
#include "python/profile_rows.h"

namespace py = pybind11;

namespace perfprobe {
namespace {

using Names = std::vector<std::string>;

// Taken from the columns at compile time: otherwise their functions, which copy rows, would be
// compiled again here.
template <class Row>
constexpr auto kNames = [] {
  constexpr auto kColumns = Row::columns();
  std::array<std::string_view, kColumns.size()> names;
  std::transform(kColumns.begin(), kColumns.end(), names.begin(),
                 [](const auto& column) { return column.name; });
  return names;
}();

void add(py::dict& tables, std::string_view table, std::span<const std::string_view> names) {
  tables[py::str(std::string(table))] = Names(names.begin(), names.end());
}

template <class... Rows>
py::dict listed() {
  py::dict tables;
  (add(tables, Rows::kTable, kNames<Rows>), ...);
  return tables;
}

// Columns that an encoder writes before those of its rows.
template <class Columns>
void add_own(py::dict& tables, std::string_view table, const Columns& own) {
  const py::str name{std::string(table)};
  auto names = tables[name].template cast<Names>();
  names.insert(names.begin(), own.begin(), own.end());
  tables[name] = names;
}

py::dict native_tables() {
  py::dict tables =
      listed<StringRow, FrameRow, ModuleRow, StackKey, SignatureRow, SignatureValues, ThreadRow,
             OperatorRecord, MemoryRecord, Loss, MetaRow, ProgressRow, EndRow, FunctionRow, CallRow,
             SampleRow, LaunchRow, KernelRow, CopyRow, ApiCallRow, WaitRow, OverheadRow,
             ExternalIdRow, GpuStateRow, RangeRow, ThreadTimesRow, ProcessorTimesRow, ActivityRow,
             LiveStep, OperatorWindow, NativeFunctionRow, NativeSampleRow, CounterRow,
             MemoryTrafficRow, StepSum, OperatorSum, SampleSum, DeviceMemory, ModuleCallRow,
             WaitReading>();
  add_own(tables, OperatorRecord::kTable, OperatorEncoder::kOwnColumns);
  add_own(tables, MemoryRecord::kTable, MemoryEncoder::kOwnColumns);
  return tables;
}

}  // namespace

void bind_tables(py::module_& module) {
  module.def("tables", &native_tables);
}

}  // namespace perfprobe
