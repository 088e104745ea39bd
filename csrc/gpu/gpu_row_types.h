// Rows of the tables that perfprobe/tables/gpu.py describes. -1: none, or not known.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "gpu/row_table.h"

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
    return std::to_array<RowColumn<LaunchRow>>(
        {{"grid_x", &LaunchRow::grid_x},
         {"grid_y", &LaunchRow::grid_y},
         {"grid_z", &LaunchRow::grid_z},
         {"block_x", &LaunchRow::block_x},
         {"block_y", &LaunchRow::block_y},
         {"block_z", &LaunchRow::block_z},
         {"registers", &LaunchRow::registers},
         {"static_shared_bytes", &LaunchRow::static_shared_bytes},
         {"dynamic_shared_bytes", &LaunchRow::dynamic_shared_bytes},
         {"local_bytes", &LaunchRow::local_bytes}});
  }
};

struct KernelRow {
  int64_t start_ns, end_ns, device, context, stream, name, launch, correlation, graph, graph_node;

  static constexpr std::string_view kTable = "kernels";
  static constexpr auto columns() {
    return std::to_array<RowColumn<KernelRow>>({{"start_ns", &KernelRow::start_ns},
                                                {"end_ns", &KernelRow::end_ns},
                                                {"device", &KernelRow::device},
                                                {"context", &KernelRow::context},
                                                {"stream", &KernelRow::stream},
                                                {"name", &KernelRow::name},
                                                {"launch", &KernelRow::launch},
                                                {"correlation", &KernelRow::correlation},
                                                {"graph", &KernelRow::graph},
                                                {"graph_node", &KernelRow::graph_node}});
  }
};

struct CopyRow {
  int64_t start_ns, end_ns, device, context, stream, kind, source, destination, is_async;
  int64_t size_bytes, peer_device, correlation, graph, graph_node;

  static constexpr std::string_view kTable = "copies";
  static constexpr auto columns() {
    return std::to_array<RowColumn<CopyRow>>({{"start_ns", &CopyRow::start_ns},
                                              {"end_ns", &CopyRow::end_ns},
                                              {"device", &CopyRow::device},
                                              {"context", &CopyRow::context},
                                              {"stream", &CopyRow::stream},
                                              {"kind", &CopyRow::kind},
                                              {"source", &CopyRow::source},
                                              {"destination", &CopyRow::destination},
                                              {"is_async", &CopyRow::is_async},
                                              {"size_bytes", &CopyRow::size_bytes},
                                              {"peer_device", &CopyRow::peer_device},
                                              {"correlation", &CopyRow::correlation},
                                              {"graph", &CopyRow::graph},
                                              {"graph_node", &CopyRow::graph_node}});
  }
};

struct ApiCallRow {
  int64_t start_ns, end_ns, thread, name, correlation, result, stack;

  static constexpr std::string_view kTable = "api_calls";
  static constexpr auto columns() {
    return std::to_array<RowColumn<ApiCallRow>>({{"start_ns", &ApiCallRow::start_ns},
                                                 {"end_ns", &ApiCallRow::end_ns},
                                                 {"thread", &ApiCallRow::thread},
                                                 {"name", &ApiCallRow::name},
                                                 {"correlation", &ApiCallRow::correlation},
                                                 {"result", &ApiCallRow::result},
                                                 {"stack", &ApiCallRow::stack}});
  }
};

struct WaitRow {
  int64_t start_ns, end_ns, kind, context, stream, correlation;

  static constexpr std::string_view kTable = "gpu_waits";
  static constexpr auto columns() {
    return std::to_array<RowColumn<WaitRow>>({{"start_ns", &WaitRow::start_ns},
                                              {"end_ns", &WaitRow::end_ns},
                                              {"kind", &WaitRow::kind},
                                              {"context", &WaitRow::context},
                                              {"stream", &WaitRow::stream},
                                              {"correlation", &WaitRow::correlation}});
  }
};

struct OverheadRow {
  int64_t start_ns, end_ns, kind;

  static constexpr std::string_view kTable = "gpu_overheads";
  static constexpr auto columns() {
    return std::to_array<RowColumn<OverheadRow>>({{"start_ns", &OverheadRow::start_ns},
                                                  {"end_ns", &OverheadRow::end_ns},
                                                  {"kind", &OverheadRow::kind}});
  }
};

struct ExternalIdRow {
  int64_t correlation, start_ns;

  static constexpr std::string_view kTable = "external_ids";
  static constexpr auto columns() {
    return std::to_array<RowColumn<ExternalIdRow>>(
        {{"correlation", &ExternalIdRow::correlation}, {"start_ns", &ExternalIdRow::start_ns}});
  }
};

}  // namespace perfprobe
