#include "cpu/sample_rows.h"

#include <array>

namespace perfprobe {
namespace {

template <class Value>
void fill(MappedVector<int64_t>& column, const MappedVector<SampleRow>& rows,
          Value SampleRow::* field) {
  column.reserve(rows.size());  // a page for each column, not one for each doubling
  for (const SampleRow& row : rows)
    column.push_back(static_cast<int64_t>(row.*field));
}

}  // namespace

void SampleRows::write() {
  if (rows_.empty())
    return;
  std::array<MappedVector<int64_t>, 7> columns;
  fill(columns[0], rows_, &SampleRow::start_ns);
  fill(columns[1], rows_, &SampleRow::end_ns);
  fill(columns[2], rows_, &SampleRow::thread);
  fill(columns[3], rows_, &SampleRow::stack);
  fill(columns[4], rows_, &SampleRow::look);
  fill(columns[5], rows_, &SampleRow::looks);
  fill(columns[6], rows_, &SampleRow::cpu_ns);
  const std::array<ColumnView, 7> views{{{"start_ns", columns[0]},
                                         {"end_ns", columns[1]},
                                         {"thread", columns[2]},
                                         {"stack", columns[3]},
                                         {"look", columns[4]},
                                         {"looks", columns[5]},
                                         {"cpu_ns", columns[6]}}};
  recorder_.add_rows("samples", views);
  written_ += static_cast<int64_t>(rows_.size());
  rows_.clear();
}

}  // namespace perfprobe
