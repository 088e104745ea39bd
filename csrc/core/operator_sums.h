// Adds operators up, whether their rows are kept or not: calls and times of each operator with the
// same inputs and the same Python stack.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/clock.h"
#include "core/held_rows.h"
#include "core/mapped_memory.h"
#include "core/records.h"

namespace perfprobe {

struct OperatorSum {
  int64_t until_ns;
  Fate fate;
  int32_t name, overload, signature, stack;
  int64_t calls;
  int64_t total_ns;
  int64_t self_ns;  // without the operators that it called
  int64_t most_ns;
  // Number of calls by duration: below 1 us, below 4 us, 16 us ... 1 s, and longer.
  std::array<int64_t, 12> below;

  static constexpr std::string_view kTable = "operator_sums";
  static constexpr auto columns() {
    using Row = OperatorSum;
    return std::array{
        column<&Row::until_ns>("until_ns", Values::climbing),
        column<&Row::fate>("fate"),
        column<&Row::name>("name"),
        column<&Row::overload>("overload"),
        column<&Row::signature>("signature"),
        column<&Row::stack>("stack"),
        column<&Row::calls>("calls"),
        column<&Row::total_ns>("total_ns"),
        column<&Row::self_ns>("self_ns"),
        column<&Row::most_ns>("most_ns"),
        bin<0>("below_1us"),
        bin<1>("below_4us"),
        bin<2>("below_16us"),
        bin<3>("below_64us"),
        bin<4>("below_256us"),
        bin<5>("below_1ms"),
        bin<6>("below_4ms"),
        bin<7>("below_16ms"),
        bin<8>("below_64ms"),
        bin<9>("below_256ms"),
        bin<10>("below_1s"),
        bin<11>("longer"),
    };
  }

 private:
  template <size_t kAt>
  static constexpr RowColumn<OperatorSum> bin(std::string_view name) {
    const auto copy = [](std::span<const OperatorSum> rows, int64_t* to) {
      for (const OperatorSum& row : rows)
        *to++ = row.below[kAt];
    };
    const auto all_are = [](std::span<const OperatorSum> rows, int64_t value) {
      for (const OperatorSum& row : rows)
        if (row.below[kAt] != value)
          return false;
      return true;
    };
    return {name, Values::any, copy, all_are, nullptr};
  }
};

// Not thread-safe: the owner locks.
class OperatorSums {
 public:
  // Adds rows of one thread, in the order in which operators ended. Calls must not leave rows out.
  void add(std::span<const OperatorRecord> rows, int32_t thread, Fate fate,
           const TickConverter& clock);
  // Returns the sums since the last call.
  MappedVector<OperatorSum> take(int64_t until_ns);
  [[nodiscard]] int64_t rows() const { return rows_; }
  // Number of operators beyond the limit of different rows. They share one row without a name.
  [[nodiscard]] int64_t others() const { return others_; }

 private:
  struct Key {
    int32_t name, overload, signature, stack;
    Fate fate;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  static constexpr size_t kMost = 32'768;
  static constexpr size_t kDeepest = 256;
  using Inside = std::array<int64_t, kDeepest + 2>;  // time of operators, by depth

  OperatorSum& find(const Key& key);

  MappedPool pool_;
  std::pmr::unordered_map<Key, OperatorSum, Hash> sums_{pool_.resource()};
  std::pmr::unordered_map<int32_t, Inside> inside_{pool_.resource()};  // by thread
  MappedVector<int64_t> start_ns_;
  MappedVector<int64_t> end_ns_;
  int64_t rows_ = 0;
  int64_t others_ = 0;
};

}  // namespace perfprobe
