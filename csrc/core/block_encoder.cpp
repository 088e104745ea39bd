#include "core/block_encoder.h"

namespace perfprobe {
namespace {

constexpr size_t kVarintBytes = 10;  // 64 bits, 7 a byte

size_t encode_varint(uint64_t value, uint8_t* to) {
  size_t count = 0;
  while (value >= 0x80) {
    to[count++] = static_cast<uint8_t>(value | 0x80);
    value >>= 7;
  }
  to[count++] = static_cast<uint8_t>(value);
  return count;
}

uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}

// Differences may wrap around; the reader's sums then wrap back.
int64_t difference(int64_t left, int64_t right) {
  return static_cast<int64_t>(static_cast<uint64_t>(left) - static_cast<uint64_t>(right));
}

// Reserves memory for the worst case once, then writes without a check per value.
template <class ValueAt>
void append_signed(std::vector<uint8_t>& bytes, size_t count, ValueAt value_at) {
  const size_t before = bytes.size();
  bytes.resize(before + count * kVarintBytes);
  uint8_t* to = bytes.data() + before;
  for (size_t i = 0; i < count; ++i)
    to += encode_varint(zigzag(value_at(i)), to);
  bytes.resize(static_cast<size_t>(to - bytes.data()));
}

// Writes each id as one byte, which suffices in most programs. Returns false if an id is too large.
bool append_bytes(std::vector<uint8_t>& bytes, std::span<const int64_t> values) {
  uint64_t all = 0;
  for (const int64_t value : values)
    all |= zigzag(value);
  if (all >= 0x80)
    return false;
  const size_t before = bytes.size();
  bytes.resize(before + values.size());
  for (size_t i = 0; i < values.size(); ++i)
    bytes[before + i] = static_cast<uint8_t>(zigzag(values[i]));
  return true;
}

size_t count_runs(std::span<const int64_t> values) {
  size_t runs = values.empty() ? 0 : 1;
  for (size_t i = 1; i < values.size(); ++i)
    runs += values[i] != values[i - 1] ? 1 : 0;
  return runs;
}

}  // namespace

void BlockEncoder::begin(std::string_view table, size_t rows, size_t columns) {
  payload_.clear();
  put_text(table);
  put_varint(rows);
  put_varint(columns);
}

void BlockEncoder::add_constant(std::string_view column, int64_t value) {
  scratch_.clear();
  append_signed(scratch_, 1, [&](size_t) { return value; });
  put_column(column, Coding::constant);
}

void BlockEncoder::add_ids(std::string_view column, std::span<const int64_t> values) {
  scratch_.clear();
  const size_t runs = count_runs(values);
  if (runs == 1) {
    add_constant(column, values[0]);
  } else if (runs * 3 < values.size()) {  // a run takes about three bytes, a plain id one or two
    for (size_t i = 0; i < values.size();) {
      size_t next = i + 1;
      while (next < values.size() && values[next] == values[i])
        ++next;
      append_signed(scratch_, 1, [&](size_t) { return values[i]; });
      uint8_t length[kVarintBytes];
      scratch_.insert(scratch_.end(), length, length + encode_varint(next - i, length));
      i = next;
    }
    put_column(column, Coding::runs);
  } else {
    if (!append_bytes(scratch_, values))
      append_signed(scratch_, values.size(), [&](size_t i) { return values[i]; });
    put_column(column, Coding::plain);
  }
}

void BlockEncoder::add_delta(std::string_view column, std::span<const int64_t> values) {
  scratch_.clear();
  append_signed(scratch_, values.size(), [&](size_t i) {
    return i == 0 ? values[0] : difference(values[i], values[i - 1]);
  });
  put_column(column, Coding::delta);
}

void BlockEncoder::add_relative(std::string_view column, std::span<const int64_t> values,
                                size_t base_index, std::span<const int64_t> base) {
  scratch_.resize(kVarintBytes);
  scratch_.resize(encode_varint(base_index, scratch_.data()));
  append_signed(scratch_, values.size(), [&](size_t i) { return difference(values[i], base[i]); });
  put_column(column, Coding::relative);
}

void BlockEncoder::add_text(std::string_view column, std::span<const std::string_view> values) {
  scratch_.clear();
  uint8_t length[kVarintBytes];
  for (const std::string_view value : values) {
    scratch_.insert(scratch_.end(), length, length + encode_varint(value.size(), length));
  }
  for (const std::string_view value : values)
    scratch_.insert(scratch_.end(), value.begin(), value.end());
  put_column(column, Coding::text);
}

void BlockEncoder::put_varint(uint64_t value) {
  uint8_t bytes[kVarintBytes];
  payload_.insert(payload_.end(), bytes, bytes + encode_varint(value, bytes));
}

void BlockEncoder::put_text(std::string_view text) {
  put_varint(text.size());
  payload_.insert(payload_.end(), text.begin(), text.end());
}

void BlockEncoder::put_column(std::string_view column, Coding coding) {
  put_text(column);
  payload_.push_back(static_cast<uint8_t>(coding));
  put_varint(scratch_.size());
  payload_.insert(payload_.end(), scratch_.begin(), scratch_.end());
}

}  // namespace perfprobe
