// How row types declare tables: `Row::kTable` is the name, `Row::columns()` an array of RowColumn.
// Writers of rows and the list of all tables (bindings/bind_tables.cpp) are made from it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace perfprobe {

// What values a column has: `climbing` ones rise by small steps or are all the same.
enum class Values { any, climbing, text };

template <class Row>
struct RowColumn {
  std::string_view name;
  Values values;
  // For numbers: copies them to `to`, which has room for all.
  void (*copy)(std::span<const Row> rows, int64_t* to);
  bool (*all_are)(std::span<const Row> rows, int64_t value);
  // For text.
  std::string_view (*text)(const Row& row);
};

template <class Member>
struct RowOf;
template <class Row, class Value>
struct RowOf<Value Row::*> {
  using type = Row;
};

// Makes the column of a field: an integer or an enumeration.
template <auto kField>
constexpr auto column(std::string_view name, Values values = Values::any) {
  using Row = typename RowOf<decltype(kField)>::type;
  const auto copy = [](std::span<const Row> rows, int64_t* to) {
    for (const Row& row : rows)
      *to++ = static_cast<int64_t>(row.*kField);
  };
  const auto all_are = [](std::span<const Row> rows, int64_t value) {
    int64_t different = 0;  // no early exit: the loop without is faster if all are the same
    for (const Row& row : rows)
      different |= static_cast<int64_t>(row.*kField) ^ value;
    return different == 0;
  };
  return RowColumn<Row>{name, values, copy, all_are, nullptr};
}

template <auto kField>
constexpr auto text_column(std::string_view name) {
  using Row = typename RowOf<decltype(kField)>::type;
  const auto text = [](const Row& row) -> std::string_view { return row.*kField; };
  return RowColumn<Row>{name, Values::text, nullptr, nullptr, text};
}

}  // namespace perfprobe
