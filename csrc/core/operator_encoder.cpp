#include "core/operator_encoder.h"

#include <algorithm>

namespace perfprobe {
namespace {

using Rows = std::span<const OperatorRecord>;

// Rows gathered at a time: 18 KB of records stay in the first-level cache while each column takes
// its field from them.
constexpr size_t kTile = 256;

// The order in which the columns lie in the encoder.
enum Place : size_t { kStart, kEnd, kCpu, kSequence, kNodeSequence, kIds };

constexpr int64_t OperatorRecord::* kLongFields[] = {
    &OperatorRecord::cpu_ns, &OperatorRecord::sequence, &OperatorRecord::node_sequence};

template <class Field>
void take(Rows rows, Field OperatorRecord::* field, int64_t* to) {
  for (const OperatorRecord& row : rows)
    *to++ = row.*field;
}

template <auto Field>
void take_field(Rows rows, int64_t* to) {
  take(rows, Field, to);
}

struct IdColumn {
  const char* name;
  void (*take)(Rows rows, int64_t* to);
};

constexpr IdColumn kIdColumns[] = {
    {"depth", &take_field<&OperatorRecord::depth>},
    {"name", &take_field<&OperatorRecord::name>},
    {"overload", &take_field<&OperatorRecord::overload>},
    {"signature", &take_field<&OperatorRecord::signature>},
    {"stack", &take_field<&OperatorRecord::stack>},
    {"forward_thread", &take_field<&OperatorRecord::forward_thread>},
    {"scope", &take_field<&OperatorRecord::scope>},
    {"node_thread", &take_field<&OperatorRecord::node_thread>},
    {"faults", &take_field<&OperatorRecord::faults>},
};

void take_ns(Rows rows, int64_t OperatorRecord::* ticks, const TickConverter& clock, int64_t* to) {
  for (const OperatorRecord& row : rows)
    *to++ = clock.to_ns(row.*ticks);
}

// Sequence numbers climb by small steps, but a column that is all -1 (no grad) takes one byte in
// all.
void add_sequence(std::string_view name, std::span<const int64_t> values, BlockEncoder& encoder) {
  if (std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end()) {
    encoder.add_ids(name, values);
  } else {
    encoder.add_delta(name, values);
  }
}

}  // namespace

void OperatorEncoder::gather(Rows rows, size_t first, const TickConverter& clock) {
  take_ns(rows, &OperatorRecord::start_ticks, clock, columns_[kStart].data() + first);
  take_ns(rows, &OperatorRecord::end_ticks, clock, columns_[kEnd].data() + first);
  for (size_t i = 0; i < std::size(kLongFields); ++i)
    take(rows, kLongFields[i], columns_[kCpu + i].data() + first);
  for (size_t i = 0; i < std::size(kIdColumns); ++i)
    kIdColumns[i].take(rows, columns_[kIds + i].data() + first);
}

void OperatorEncoder::encode(Rows rows, int32_t thread, const TickConverter& clock,
                             BlockEncoder& encoder) {
  static_assert(kIds + std::size(kIdColumns) == kColumns);
  for (Column& column : columns_)
    column.resize(rows.size());
  for (size_t first = 0; first < rows.size(); first += kTile)
    gather(rows.subspan(first, std::min(kTile, rows.size() - first)), first, clock);
  encoder.begin("operators", rows.size(), kColumns + 1);
  encoder.add_delta("start_ns", columns_[kStart]);
  encoder.add_relative("end_ns", columns_[kEnd], 0, columns_[kStart]);
  encoder.add_ids("cpu_ns", columns_[kCpu]);
  encoder.add_constant("thread", thread);
  for (size_t i = 0; i < std::size(kIdColumns); ++i)
    encoder.add_ids(kIdColumns[i].name, columns_[kIds + i]);
  add_sequence("sequence", columns_[kSequence], encoder);
  add_sequence("node_sequence", columns_[kNodeSequence], encoder);
}

}  // namespace perfprobe
