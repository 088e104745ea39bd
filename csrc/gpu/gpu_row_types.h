// Row types of the tables in perfprobe/tables/gpu.py. -1: none, or not known.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/row_table.h"

namespace perfprobe {

struct Interval {
  int64_t start_ns = -1;
  int64_t end_ns = -1;
};

struct LaunchRow {
  int64_t grid_x, grid_y, grid_z, block_x, block_y, block_z;
  int64_t registers, static_shared_bytes, dynamic_shared_bytes, local_bytes;

  static constexpr std::string_view kTable = "launches";
  static constexpr auto columns() {
    return std::array{column<&LaunchRow::grid_x>("grid_x"),
                      column<&LaunchRow::grid_y>("grid_y"),
                      column<&LaunchRow::grid_z>("grid_z"),
                      column<&LaunchRow::block_x>("block_x"),
                      column<&LaunchRow::block_y>("block_y"),
                      column<&LaunchRow::block_z>("block_z"),
                      column<&LaunchRow::registers>("registers"),
                      column<&LaunchRow::static_shared_bytes>("static_shared_bytes"),
                      column<&LaunchRow::dynamic_shared_bytes>("dynamic_shared_bytes"),
                      column<&LaunchRow::local_bytes>("local_bytes")};
  }
};

struct KernelRow {
  int64_t start_ns, end_ns, device, context, stream, name, launch, correlation, graph, graph_node;

  static constexpr std::string_view kTable = "kernels";
  static constexpr auto columns() {
    return std::array{
        column<&KernelRow::start_ns>("start_ns"), column<&KernelRow::end_ns>("end_ns"),
        column<&KernelRow::device>("device"),     column<&KernelRow::context>("context"),
        column<&KernelRow::stream>("stream"),     column<&KernelRow::name>("name"),
        column<&KernelRow::launch>("launch"),     column<&KernelRow::correlation>("correlation"),
        column<&KernelRow::graph>("graph"),       column<&KernelRow::graph_node>("graph_node")};
  }
};

struct CopyRow {
  int64_t start_ns, end_ns, device, context, stream, kind, source, destination, is_async;
  int64_t size_bytes, peer_device, correlation, graph, graph_node;

  static constexpr std::string_view kTable = "copies";
  static constexpr auto columns() {
    return std::array{column<&CopyRow::start_ns>("start_ns"),
                      column<&CopyRow::end_ns>("end_ns"),
                      column<&CopyRow::device>("device"),
                      column<&CopyRow::context>("context"),
                      column<&CopyRow::stream>("stream"),
                      column<&CopyRow::kind>("kind"),
                      column<&CopyRow::source>("source"),
                      column<&CopyRow::destination>("destination"),
                      column<&CopyRow::is_async>("is_async"),
                      column<&CopyRow::size_bytes>("size_bytes"),
                      column<&CopyRow::peer_device>("peer_device"),
                      column<&CopyRow::correlation>("correlation"),
                      column<&CopyRow::graph>("graph"),
                      column<&CopyRow::graph_node>("graph_node")};
  }
};

struct ApiCallRow {
  int64_t start_ns, end_ns, thread, name, correlation, result, stack;

  static constexpr std::string_view kTable = "api_calls";
  static constexpr auto columns() {
    return std::array{column<&ApiCallRow::start_ns>("start_ns"),
                      column<&ApiCallRow::end_ns>("end_ns"),
                      column<&ApiCallRow::thread>("thread"),
                      column<&ApiCallRow::name>("name"),
                      column<&ApiCallRow::correlation>("correlation"),
                      column<&ApiCallRow::result>("result"),
                      column<&ApiCallRow::stack>("stack")};
  }
};

struct WaitRow {
  int64_t start_ns, end_ns, kind, context, stream, correlation;

  static constexpr std::string_view kTable = "gpu_waits";
  static constexpr auto columns() {
    return std::array{
        column<&WaitRow::start_ns>("start_ns"), column<&WaitRow::end_ns>("end_ns"),
        column<&WaitRow::kind>("kind"),         column<&WaitRow::context>("context"),
        column<&WaitRow::stream>("stream"),     column<&WaitRow::correlation>("correlation")};
  }
};

struct OverheadRow {
  int64_t start_ns, end_ns, kind;

  static constexpr std::string_view kTable = "gpu_overheads";
  static constexpr auto columns() {
    return std::array{column<&OverheadRow::start_ns>("start_ns"),
                      column<&OverheadRow::end_ns>("end_ns"), column<&OverheadRow::kind>("kind")};
  }
};

struct ExternalIdRow {
  int64_t correlation, start_ns;

  static constexpr std::string_view kTable = "external_ids";
  static constexpr auto columns() {
    return std::array{column<&ExternalIdRow::correlation>("correlation"),
                      column<&ExternalIdRow::start_ns>("start_ns")};
  }
};

// throttle: bits of nvmlClocksEventReasons in nvml.h.
struct GpuStateRow {
  int64_t time_ns = -1, device = -1;
  int64_t sm_clock_mhz = -1, memory_clock_mhz = -1, power_mw = -1, temperature_c = -1;
  int64_t throttle = -1, utilization_percent = -1, used_bytes = -1;

  bool operator==(const GpuStateRow&) const = default;

  static constexpr std::string_view kTable = "gpu_states";
  static constexpr auto columns() {
    return std::array{column<&GpuStateRow::time_ns>("time_ns"),
                      column<&GpuStateRow::device>("device"),
                      column<&GpuStateRow::sm_clock_mhz>("sm_clock_mhz"),
                      column<&GpuStateRow::memory_clock_mhz>("memory_clock_mhz"),
                      column<&GpuStateRow::power_mw>("power_mw"),
                      column<&GpuStateRow::temperature_c>("temperature_c"),
                      column<&GpuStateRow::throttle>("throttle"),
                      column<&GpuStateRow::utilization_percent>("utilization_percent"),
                      column<&GpuStateRow::used_bytes>("used_bytes")};
  }
};

}  // namespace perfprobe
