// Finds the ends of JSON values in a text, and checks their syntax as RFC 8259 has it.
//
// Every function takes a position and returns the one behind the value, or kInvalid. Nothing is
// decoded.
#pragma once

#include <cstddef>
#include <string_view>

namespace perfprobe {

class JsonScanner {
 public:
  static constexpr size_t kInvalid = static_cast<size_t>(-1);

  explicit JsonScanner(std::string_view text) : text_(text) {}

  [[nodiscard]] size_t end() const { return text_.size(); }
  [[nodiscard]] bool is(size_t at, char letter) const {
    return at < text_.size() && text_[at] == letter;
  }
  [[nodiscard]] std::string_view part(size_t begin, size_t behind) const {
    return text_.substr(begin, behind - begin);
  }

  [[nodiscard]] size_t behind_space(size_t at) const {
    while (at < text_.size() &&
           (text_[at] == ' ' || text_[at] == '\n' || text_[at] == '\r' || text_[at] == '\t'))
      ++at;
    return at;
  }

  [[nodiscard]] size_t behind_value(size_t at, int depth = 0) const;
  [[nodiscard]] size_t behind_string(size_t at) const;

  // is_integer: whether the number has neither a fraction nor an exponent.
  [[nodiscard]] size_t behind_number(size_t at, bool& is_integer) const;

 private:
  [[nodiscard]] size_t behind_word(size_t at, std::string_view word) const;
  [[nodiscard]] size_t behind_escape(size_t at) const;
  [[nodiscard]] size_t behind_digits(size_t at) const;
  [[nodiscard]] size_t behind_object(size_t at, int depth) const;
  [[nodiscard]] size_t behind_array(size_t at, int depth) const;

  std::string_view text_;
};

}  // namespace perfprobe
