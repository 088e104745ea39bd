// Interning: ids in order, no duplicates, limits, and no loss if the disk refuses.
#include "core/definitions.h"

#include <string>

#include "check.h"
#include "core/intern_table.h"

using perfprobe::Definitions;
using perfprobe::Hash128;
using perfprobe::kNone;
using perfprobe::NewDefinitions;

namespace {

void strings_are_interned_by_content() {
  Definitions definitions;
  const std::string again = "aten::bmm";
  const auto first = definitions.intern("aten::bmm");
  const auto second = definitions.intern("aten::div");
  CHECK_EQUAL(definitions.intern(again).id, first.id);
  CHECK_EQUAL(definitions.intern(again).text, first.text);
  CHECK_EQUAL(second.id, first.id + 1);
  CHECK_EQUAL(definitions.take_new().strings.size(), size_t{2});
  CHECK(definitions.take_new().empty());
}

void refused_definitions_are_offered_again_first() {
  Definitions definitions;
  definitions.intern("a");
  NewDefinitions refused = definitions.take_new();
  definitions.intern("b");
  definitions.put_back(std::move(refused));
  const NewDefinitions again = definitions.take_new();
  CHECK_EQUAL(again.strings.at(0).text, "a");
  CHECK_EQUAL(again.strings.at(1).text, "b");
}

void signatures_beyond_the_limit_are_one_row() {
  Definitions definitions;
  for (uint64_t i = 0; i < Definitions::kLimit; ++i) {
    definitions.add_signature({i, 1}, {"f32[1]", nullptr, nullptr, 0});
  }
  const int32_t other = definitions.add_signature({0, 2}, {"f32[2]", nullptr, nullptr, 0});
  CHECK_EQUAL(definitions.add_signature({1, 2}, {"f32[3]", nullptr, nullptr, 0}), other);
  CHECK_EQUAL(definitions.add_signature({7, 1}, {"f32[1]", nullptr, nullptr, 0}), 7);
  CHECK_EQUAL(definitions.other_signatures(), 2);
  CHECK_EQUAL(definitions.take_new().signatures.size(), Definitions::kLimit + 1);
}

void values_are_kept_until_they_take_too_much_room() {
  Definitions definitions;
  const std::string half(Definitions::kValueBytes / 2, 'x');
  for (uint64_t i = 0; i < 3; ++i) {
    const std::string values = half + std::to_string(i);
    definitions.add_signature({i, 1}, {"f32[1]", nullptr, values.c_str(), 0});
  }
  definitions.add_signature({7, 1}, {"f32[2]", nullptr, nullptr, 0});
  const auto rows = definitions.take_new().signatures;
  CHECK(rows.at(0).values != kNone);
  CHECK(rows.at(1).values != rows.at(0).values);
  CHECK_EQUAL(rows.at(2).values, kNone);
  CHECK_EQUAL(rows.at(3).values, kNone);
}

void names_beyond_the_limit_are_one() {
  Definitions definitions;
  for (size_t i = 0; i < Definitions::kLimit; ++i)
    definitions.intern_name("step " + std::to_string(i), false);
  const int32_t other = definitions.intern_name("one more", false).id;
  CHECK_EQUAL(definitions.intern_name("and another", false).id, other);
  CHECK_EQUAL(definitions.intern_name("step 7", false).id, 7);
  CHECK_EQUAL(definitions.other_names(), 2);
  CHECK(definitions.intern_name("aten::sin", true).id != other);
}

void models_of_one_type_are_limited() {
  Definitions definitions;
  const int32_t type = definitions.intern("CrossEntropyLoss").id;
  int32_t last = kNone;
  for (size_t i = 0; i < 10 * Definitions::kRootsOfAType; ++i)
    last = definitions.add_root_module(type);
  CHECK_EQUAL(last, 0);
  CHECK_EQUAL(definitions.take_new().modules.size(), Definitions::kRootsOfAType);
}

void the_table_finds_every_entry() {
  perfprobe::InternTable table;
  constexpr int32_t kCount = 10'000;
  for (int32_t i = 0; i < kCount; ++i)
    table.insert({static_cast<uint64_t>(i) * 64, 5}, i);
  int32_t wrong = 0;
  for (int32_t i = 0; i < kCount; ++i)
    wrong += table.find({static_cast<uint64_t>(i) * 64, 5}) != i ? 1 : 0;
  CHECK_EQUAL(wrong, 0);
  CHECK_EQUAL(table.find({3, 3}), perfprobe::InternTable::kAbsent);
}

void stacks_beyond_the_limit_are_one() {
  Definitions definitions;
  for (uint64_t i = 0; i < Definitions::kLimit; ++i) {
    CHECK_EQUAL(definitions.find_stack({i, 1}), perfprobe::InternTable::kAbsent);
    definitions.remember_stack({i, 1}, 0);
  }
  const int32_t other = definitions.find_stack({0, 2});
  CHECK_EQUAL(definitions.find_stack({1, 2}), other);
  CHECK_EQUAL(definitions.find_stack({7, 1}), 0);
  CHECK_EQUAL(definitions.other_stacks(), 2);
}

// A few stacks may have very many calls.
void calls_in_stacks_are_limited_too() {
  Definitions definitions;
  int32_t stack = kNone;
  for (size_t i = 0; i < Definitions::kStackRows; ++i) {
    CHECK(definitions.find_stack({i, 1}) == perfprobe::InternTable::kAbsent);
    stack = definitions.add_stack({.parent = stack, .frame = 0});
  }
  definitions.remember_stack({0, 3}, stack);
  CHECK(definitions.find_stack({0, 2}) > stack);
  CHECK_EQUAL(definitions.find_stack({0, 3}), stack);
}

// Words with another order, length or place have another hash.
void hashes_depend_on_order_and_length() {
  const auto hash = [](std::initializer_list<uint64_t> words) {
    perfprobe::Hasher hasher;
    for (const uint64_t word : words)
      hasher.add(word, 0);
    return hasher.result();
  };
  CHECK(hash({1, 2}) != hash({2, 1}));
  CHECK(hash({0}) != hash({0, 0}));
  CHECK(hash({1, 2}) == hash({1, 2}));
  perfprobe::Hasher later(hash({1, 2}), 2);
  later.add(3, 0);
  CHECK(later.result() == hash({1, 2, 3}));
}

}  // namespace

int main() {
  strings_are_interned_by_content();
  refused_definitions_are_offered_again_first();
  signatures_beyond_the_limit_are_one_row();
  values_are_kept_until_they_take_too_much_room();
  names_beyond_the_limit_are_one();
  models_of_one_type_are_limited();
  stacks_beyond_the_limit_are_one();
  calls_in_stacks_are_limited_too();
  the_table_finds_every_entry();
  hashes_depend_on_order_and_length();
  return perfprobe::test::report();
}
