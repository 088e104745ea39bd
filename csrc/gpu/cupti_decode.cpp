#include "gpu/cupti_decode.h"

namespace perfprobe {
namespace {

constexpr int64_t kFill =
    100;  // CopyKind.FILL: a number of perfprobe, as CUPTI has a record type for fills

// A time of 0 means that CUPTI has none. `end` is 0 in records that were fetched before their end.
Interval times(const CuptiRecord& record, cupti::Field<uint64_t> start,
               cupti::Field<uint64_t> end) {
  const auto start_ns = static_cast<int64_t>(record.get(start));
  const auto end_ns = static_cast<int64_t>(record.get(end));
  return start_ns > 0 && end_ns >= start_ns ? Interval{start_ns, end_ns} : Interval{};
}

// 0 is UNKNOWN in all of CUPTI's enumerations. Values of later versions count as unknown too.
template <class T>
int64_t choice(const CuptiRecord& record, cupti::Field<T> field, uint8_t choices) {
  const T value = record.get(field);
  return value < choices ? static_cast<int64_t>(value) : 0;
}

template <class T>
int64_t is_async(const CuptiRecord& record, cupti::Field<T> flags) {
  return (record.get(flags) & cupti::kAsync) != 0 ? 1 : 0;
}

int64_t number(const CuptiRecord& record, cupti::Field<int32_t> field) {
  return record.get(field, -1);
}

int64_t number(const CuptiRecord& record, cupti::Field<uint32_t> field) {
  return record.id(field, cupti::kNotApplicable);
}

// 0 means none: CUPTI_CORRELATION_ID_UNKNOWN, and the graph of work that no graph launched.
template <class T>
int64_t number_or_none(const CuptiRecord& record, cupti::Field<T> field) {
  return record.id(field, 0);
}

// Decodes the fields that copies, copies between devices and fills share.
CopyRow decode_move(const CuptiRecord& record) {
  namespace field = cupti::memcpy;
  const auto [start_ns, end_ns] = times(record, field::start, field::end);
  CopyRow row{};
  row.start_ns = start_ns;
  row.end_ns = end_ns;
  row.device = number(record, field::device);
  row.context = number(record, field::context);
  row.stream = number(record, field::stream);
  row.size_bytes = static_cast<int64_t>(record.get(field::bytes));
  row.peer_device = -1;
  row.correlation = number_or_none(record, field::correlation);
  row.graph = number_or_none(record, field::graph);
  row.graph_node = number_or_none(record, field::graph_node);
  return row;
}

}  // namespace

LaunchRow decode_launch(const CuptiRecord& record) {
  namespace field = cupti::kernel;
  return {.grid_x = number(record, field::grid_x),
          .grid_y = number(record, field::grid_y),
          .grid_z = number(record, field::grid_z),
          .block_x = number(record, field::block_x),
          .block_y = number(record, field::block_y),
          .block_z = number(record, field::block_z),
          .registers = record.get(field::registers),
          .static_shared_bytes = number(record, field::static_shared),
          .dynamic_shared_bytes = number(record, field::dynamic_shared),
          .local_bytes = number(record, field::local_per_thread)};
}

KernelRow decode_kernel(const CuptiRecord& record, int32_t name, int32_t launch) {
  namespace field = cupti::kernel;
  const auto [start_ns, end_ns] = times(record, field::start, field::end);
  return {.start_ns = start_ns,
          .end_ns = end_ns,
          .device = number(record, field::device),
          .context = number(record, field::context),
          .stream = number(record, field::stream),
          .name = name,
          .launch = launch,
          .correlation = number_or_none(record, field::correlation),
          .graph = number_or_none(record, field::graph),
          .graph_node = number_or_none(record, field::graph_node)};
}

KernelRow decode_graph(const CuptiRecord& record, int32_t name) {
  namespace field = cupti::graph_trace;
  const auto [start_ns, end_ns] = times(record, field::start, field::end);
  return {.start_ns = start_ns,
          .end_ns = end_ns,
          .device = number(record, field::device),
          .context = number(record, field::context),
          .stream = number(record, field::stream),
          .name = name,
          .launch = -1,
          .correlation = number_or_none(record, field::correlation),
          .graph = number_or_none(record, field::graph),
          .graph_node = -1};
}

CopyRow decode_copy(const CuptiRecord& record) {
  namespace field = cupti::memcpy;
  CopyRow row = decode_move(record);
  row.kind = choice(record, field::copy_kind, cupti::kCopyKinds);
  row.source = choice(record, field::source_kind, cupti::kMemoryKinds);
  row.destination = choice(record, field::destination_kind, cupti::kMemoryKinds);
  row.is_async = is_async(record, field::flags);
  return row;
}

CopyRow decode_peer_copy(const CuptiRecord& record) {
  namespace field = cupti::memcpy2;
  CopyRow row = decode_copy(record);
  const int64_t source = number(record, field::source_device);
  const int64_t destination = number(record, field::destination_device);
  row.peer_device = destination != row.device ? destination : source;
  row.correlation = number_or_none(record, field::correlation);
  row.graph = number_or_none(record, field::graph);
  row.graph_node = number_or_none(record, field::graph_node);
  return row;
}

CopyRow decode_fill(const CuptiRecord& record) {
  namespace field = cupti::memset;
  CopyRow row = decode_move(record);
  row.kind = kFill;
  row.destination = choice(record, field::memory_kind, cupti::kMemoryKinds);
  row.is_async = is_async(record, field::flags);
  return row;
}

ApiCallRow decode_api_call(const CuptiRecord& record, int32_t name, int32_t thread) {
  namespace field = cupti::api;
  const auto [start_ns, end_ns] = times(record, field::start, field::end);
  return {.start_ns = start_ns,
          .end_ns = end_ns,
          .thread = thread,
          .name = name,
          .correlation = number_or_none(record, field::correlation),
          .result = static_cast<int32_t>(record.get(field::result)),
          .stack = -1};
}

WaitRow decode_wait(const CuptiRecord& record) {
  namespace field = cupti::synchronization;
  const auto [start_ns, end_ns] = times(record, field::start, field::end);
  return {.start_ns = start_ns,
          .end_ns = end_ns,
          .kind = choice(record, field::type, cupti::kWaitKinds),
          .context = number(record, field::context),
          .stream = number(record, field::stream),
          .correlation = number_or_none(record, field::correlation)};
}

OverheadRow decode_overhead(const CuptiRecord& record) {
  namespace field = cupti::overhead;
  const auto [start_ns, end_ns] = times(record, field::start, field::end);
  const auto kind = static_cast<int32_t>(record.get(field::overhead_kind));
  return {.start_ns = start_ns, .end_ns = end_ns, .kind = kind};
}

}  // namespace perfprobe
