// Decodes events: values, texts, times, and texts that are refused at every length.
#include "read/event_columns.h"

#include <cstdint>
#include <string>
#include <vector>

#include "check.h"

using perfprobe::EventColumns;

namespace {

constexpr const char* kEvents =
    R"([{"ts": 1.25, "dur": 12, "name": "a\"b", "args": {"id": 7, "more": [1, {"x": "]"}]}},
        {"name": "a\"b", "ts": "12", "args": null, "other": true}])";

EventColumns columns() {
  return EventColumns({{"ts", "dur"}, {"name"}, {"id"}});
}

void values() {
  const std::string text = kEvents;
  EventColumns found = columns();
  CHECK_EQUAL(found.decode(text), true);
  const auto& column = found.columns();
  const std::vector<std::vector<int64_t>> expected = {
      {1250, EventColumns::kFirstText - 1},
      {12'000, EventColumns::kNone},
      {EventColumns::kFirstText, EventColumns::kFirstText},
      {7, EventColumns::kNone}};
  CHECK_EQUAL(column == expected, true);
  CHECK_EQUAL(found.texts().size(), size_t{2});
  CHECK_EQUAL(found.texts()[0], R"("a\"b")");
  CHECK_EQUAL(found.texts()[1], R"("12")");
}

// Under the address sanitizer this also shows that nothing behind the text is read.
void cut_texts() {
  const std::string text = kEvents;
  for (size_t length = 0; length < text.size(); ++length)
    CHECK_EQUAL(columns().decode(std::string(text.data(), length)), false);
}

void many_texts() {
  constexpr int64_t kDifferent = 2500;
  std::string text = "[";
  for (int64_t number = 0; number < 2 * kDifferent; ++number)
    text += (number == 0 ? "{\"name\":\"n" : ",{\"name\":\"n") +
            std::to_string(number % kDifferent) + "\"}";
  text += "]";
  EventColumns found = columns();
  CHECK_EQUAL(found.decode(text), true);
  CHECK_EQUAL(found.texts().size(), size_t{kDifferent});
  int64_t number = 0;
  for (const int64_t code : found.columns()[2])
    CHECK_EQUAL(code, EventColumns::kFirstText - number++ % kDifferent);
}

}  // namespace

int main() {
  values();
  cut_texts();
  many_texts();
  return perfprobe::test::report();
}
