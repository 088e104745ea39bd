#include "gpu/gpu_rows.h"

#include <algorithm>

#include "core/intern_table.h"
#include "gpu/api_names.h"
#include "gpu/cupti_decode.h"
#include "gpu/kernel_names.h"
#include "gpu/record_clock.h"

namespace perfprobe {
namespace {

constexpr const char* kGraphName = "CUDA graph";

Hash128 hash_of(const LaunchRow& launch) {
  const auto pair = [](int64_t high, int64_t low) {
    return static_cast<uint64_t>(high) << 32 | static_cast<uint32_t>(low);
  };
  Hasher hasher;
  hasher.add(pair(launch.grid_x, launch.grid_y), pair(launch.grid_z, launch.block_x));
  hasher.add(pair(launch.block_y, launch.block_z), pair(launch.registers, launch.local_bytes));
  hasher.add(pair(launch.static_shared_bytes, launch.dynamic_shared_bytes), 0);
  return hasher.result();
}

}  // namespace

class GpuRows::Decoder {
 public:
  Decoder(Recorder& recorder, NextRecord next, CallbackName name, GpuTotals& totals)
      : recorder_(recorder),
        next_(next),
        strides_(probe_strides(next)),
        totals_(totals),
        kernel_names_(recorder),
        api_names_(recorder, name),
        api_threads_(recorder) {}

  void begin_session(int64_t started_ns) { clock_.begin(started_ns); }
  void take(uint8_t* buffer, size_t valid_bytes);
  void write();
  [[nodiscard]] GpuRowFigures figures() const { return figures_; }

 private:
  static constexpr int32_t kMostLaunches = 262'144;

  void add(uint32_t kind, const CuptiRecord& record);
  void add_kernel(const CuptiRecord& record);
  void add_graph(const CuptiRecord& record);
  void see_node(const KernelRow& row);
  void add_copy(const CopyRow& row);
  void add_fill(const CopyRow& row);
  void add_api_call(const CuptiRecord& record, uint32_t domain);
  void add_wait(const WaitRow& row);
  void add_overhead(const OverheadRow& row);
  void add_external_id(const CuptiRecord& record);
  int32_t find_launch(const LaunchRow& launch);

  template <class Row>
  void put(RowTable<Row>& table, const Row& row) {
    if (table.is_full())
      write();
    table.add(row);
  }

  // The same for a row with times. Returns its duration, 0 if it has no time.
  template <class Row>
  int64_t put_timed(RowTable<Row>& table, Row row) {
    if (row.start_ns < 0)
      ++figures_.untimed;
    else
      count(clock_.settle(row.start_ns, row.end_ns));
    put(table, row);
    return row.end_ns - row.start_ns;
  }

  void count(RecordClock::Fit fit) {
    figures_.shifted += fit == RecordClock::Fit::shifted ? 1 : 0;
    figures_.foreign_times += fit == RecordClock::Fit::foreign ? 1 : 0;
  }

  Recorder& recorder_;
  NextRecord next_;
  const Strides strides_;
  RecordClock clock_;
  GpuTotals& totals_;
  KernelNames kernel_names_;
  ApiNames api_names_;
  ApiThreads api_threads_;
  InternTable launch_ids_;
  int32_t launch_rows_ = 0;
  GpuRowFigures figures_;
  int64_t graph_launch_ = -1;  // the correlation of the last node
  int64_t nodes_ = 0;          // seen of that launch

  RowTable<LaunchRow> launches_;
  RowTable<KernelRow> kernels_;
  RowTable<CopyRow> copies_;
  RowTable<ApiCallRow> api_calls_;
  RowTable<WaitRow> waits_;
  RowTable<OverheadRow> overheads_;
  RowTable<ExternalIdRow> external_ids_;
};

void GpuRows::Decoder::take(uint8_t* buffer, size_t valid_bytes) {
  kernel_names_.begin_buffer();
  clock_.begin_buffer();
  CuptiWalk walk(next_, strides_, buffer, valid_bytes);
  CuptiWalk::State state = walk.step();
  for (; state == CuptiWalk::State::at_record; state = walk.step()) {
    ++figures_.records;
    if (strides_.of(walk.kind()) == 0)
      ++figures_.unknown_kinds;
    else
      add(walk.kind(), walk.record());
  }
  figures_.unknown_kinds += state == CuptiWalk::State::unknown_kind ? 1 : 0;
  figures_.malformed += state == CuptiWalk::State::malformed ? 1 : 0;
}

void GpuRows::Decoder::add(uint32_t kind, const CuptiRecord& record) {
  switch (kind) {
    case cupti::kKernel:
    case cupti::kConcurrentKernel:
      return add_kernel(record);
    case cupti::kGraphTrace:
      return add_graph(record);
    case cupti::kMemcpy:
      return add_copy(decode_copy(record));
    case cupti::kMemcpy2:
      return add_copy(decode_peer_copy(record));
    case cupti::kMemset:
      return add_fill(decode_fill(record));
    case cupti::kRuntime:
      return add_api_call(record, cupti::kRuntimeDomain);
    case cupti::kDriver:
      return add_api_call(record, cupti::kDriverDomain);
    case cupti::kSynchronization:
      return add_wait(decode_wait(record));
    case cupti::kOverhead:
      return add_overhead(decode_overhead(record));
    default:  // kExternal: the last kind that has a stride
      return add_external_id(record);
  }
}

void GpuRows::Decoder::add_kernel(const CuptiRecord& record) {
  const int32_t name = kernel_names_.find(record.get(cupti::kernel::name));
  const int32_t launch = find_launch(decode_launch(record));
  const KernelRow row = decode_kernel(record, name, launch);
  totals_.add_kernel(put_timed(kernels_, row));
  see_node(row);
  figures_.unread_names += name == kNone ? 1 : 0;
  figures_.dropped += name == kernel_names_.other() ? 1 : 0;
  figures_.dropped += launch == kNone ? 1 : 0;
}

// The kernels of a launch come together.
void GpuRows::Decoder::see_node(const KernelRow& row) {
  if (row.graph < 0)
    return;
  nodes_ = row.correlation == graph_launch_ ? nodes_ + 1 : 1;
  graph_launch_ = row.correlation;
  figures_.most_nodes = std::max(figures_.most_nodes, nodes_);
}

void GpuRows::Decoder::add_graph(const CuptiRecord& record) {
  const int32_t name = kernel_names_.find(kGraphName);
  totals_.add_kernel(put_timed(kernels_, decode_graph(record, name)));
}

int32_t GpuRows::Decoder::find_launch(const LaunchRow& launch) {
  const Hash128 hash = hash_of(launch);
  const int32_t known = launch_ids_.find(hash);
  if (known != InternTable::kAbsent)
    return known;
  if (launch_rows_ >= kMostLaunches)
    return kNone;
  put(launches_, launch);
  const int32_t id = launch_rows_++;  // the number is taken even if memory for the row runs out
  launch_ids_.insert(hash, id);
  return id;
}

void GpuRows::Decoder::add_copy(const CopyRow& row) {
  const int64_t ns = put_timed(copies_, row);
  totals_.add_copy(static_cast<size_t>(row.kind), row.size_bytes, ns);
}

void GpuRows::Decoder::add_fill(const CopyRow& row) {
  totals_.add_fill(row.size_bytes, put_timed(copies_, row));
}

// perfprobe marks the end of a recording by asking for a version: not a call of the program.
void GpuRows::Decoder::add_api_call(const CuptiRecord& record, uint32_t domain) {
  if (record.get(cupti::api::callback) == cupti::kGetVersion)
    return;
  const int32_t name = api_names_.find(domain, record.get(cupti::api::callback));
  const int32_t thread = api_threads_.find(record.get(cupti::api::thread));
  const ApiCallRow row = decode_api_call(record, name, thread);
  put_timed(api_calls_, row);
  figures_.dropped += name == api_names_.other() ? 1 : 0;
  figures_.dropped += thread == api_threads_.other() ? 1 : 0;
}

void GpuRows::Decoder::add_wait(const WaitRow& row) {
  totals_.add_wait(static_cast<size_t>(row.kind), put_timed(waits_, row));
}

void GpuRows::Decoder::add_overhead(const OverheadRow& row) {
  put_timed(overheads_, row);
}

// Other kinds are ids that the program or a tool in it pushed for itself.
void GpuRows::Decoder::add_external_id(const CuptiRecord& record) {
  namespace field = cupti::external;
  if (record.get(field::external_kind) != cupti::kExternalKind)
    return;
  put(external_ids_,
      ExternalIdRow{record.id(field::correlation, 0), static_cast<int64_t>(record.get(field::id))});
}

void GpuRows::Decoder::write() {
  launches_.write(recorder_, true);
  kernels_.write(recorder_);
  copies_.write(recorder_);
  api_calls_.write(recorder_);
  waits_.write(recorder_);
  overheads_.write(recorder_);
  external_ids_.write(recorder_);
}

GpuRows::GpuRows(Recorder& recorder, NextRecord next, CallbackName name, GpuTotals& totals)
    : decoder_(std::make_unique<Decoder>(recorder, next, name, totals)) {}

GpuRows::~GpuRows() = default;

void GpuRows::begin_session(int64_t started_ns) {
  decoder_->begin_session(started_ns);
}

void GpuRows::take(uint8_t* buffer, size_t valid_bytes) {
  decoder_->take(buffer, valid_bytes);
}

void GpuRows::write() {
  decoder_->write();
}

GpuRowFigures GpuRows::figures() const {
  return decoder_->figures();
}

}  // namespace perfprobe
