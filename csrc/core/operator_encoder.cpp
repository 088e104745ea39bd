#include "core/operator_encoder.h"

namespace perfprobe {
namespace {

using Rows = std::span<const OperatorRecord>;

template <class Field>
std::span<const int64_t> gather(Rows rows, Field OperatorRecord::* field,
                                std::vector<int64_t>& column) {
  column.resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i)
    column[i] = rows[i].*field;
  return column;
}

std::span<const int64_t> gather_ns(Rows rows, int64_t OperatorRecord::* ticks,
                                   const TickConverter& clock, std::vector<int64_t>& column) {
  column.resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i)
    column[i] = clock.to_ns(rows[i].*ticks);
  return column;
}

struct IdColumn {
  const char* name;
  int32_t OperatorRecord::* field;
};

constexpr IdColumn kIdColumns[] = {
    {"depth", &OperatorRecord::depth},       {"name", &OperatorRecord::name},
    {"overload", &OperatorRecord::overload}, {"signature", &OperatorRecord::signature},
    {"stack", &OperatorRecord::stack},       {"forward_thread", &OperatorRecord::forward_thread},
    {"scope", &OperatorRecord::scope},       {"node_thread", &OperatorRecord::node_thread},
};
constexpr size_t kOtherColumns = 6;  // start_ns, end_ns, cpu_ns, thread, sequence, node_sequence

// Sequence numbers climb by small steps, but a column that is all -1 (no grad) takes one byte in
// all.
void add_sequence(std::string_view name, std::span<const int64_t> values, BlockEncoder& encoder) {
  const bool same = values.front() == values.back() && values.front() == values[values.size() / 2];
  if (same) {
    encoder.add_ids(name, values);
  } else {
    encoder.add_delta(name, values);
  }
}

}  // namespace

void OperatorEncoder::encode(Rows rows, int32_t thread, const TickConverter& clock,
                             BlockEncoder& encoder) {
  encoder.begin("operators", rows.size(), std::size(kIdColumns) + kOtherColumns);
  const auto start = gather_ns(rows, &OperatorRecord::start_ticks, clock, start_);
  encoder.add_delta("start_ns", start);
  encoder.add_relative("end_ns", gather_ns(rows, &OperatorRecord::end_ticks, clock, column_), 0,
                       start);
  encoder.add_ids("cpu_ns", gather(rows, &OperatorRecord::cpu_ns, column_));
  column_.assign(rows.size(), thread);
  encoder.add_ids("thread", column_);
  for (const IdColumn& id : kIdColumns)
    encoder.add_ids(id.name, gather(rows, id.field, column_));
  add_sequence("sequence", gather(rows, &OperatorRecord::sequence, column_), encoder);
  add_sequence("node_sequence", gather(rows, &OperatorRecord::node_sequence, column_), encoder);
}

}  // namespace perfprobe
