// Reads `.cupti` files (csrc/gpu/cupti_fixture.h) and steps through their buffers as the library
// that filled them would.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/cupti_fixture.h"
#include "gpu/cupti_walk.h"

namespace perfprobe::test {

// The record lengths for `next_by_strides`. A NextRecord function has no argument for them.
inline Strides& current_strides() {
  static Strides strides;
  return strides;
}

// Like cuptiActivityGetNextRecord: incomplete records are not seen.
inline uint32_t next_by_strides(uint8_t* buffer, size_t valid_bytes, void** record) {
  const auto kind_at = [&](size_t at) {
    uint32_t kind = 0;
    std::memcpy(&kind, buffer + at, sizeof(kind));
    return kind;
  };
  const auto stride_at = [&](size_t at) { return current_strides().of(kind_at(at)); };
  size_t at = 0;
  if (*record != nullptr) {
    at = static_cast<size_t>(static_cast<uint8_t*>(*record) - buffer);
    at += stride_at(at);
  }
  if (at + sizeof(uint32_t) > valid_bytes)
    return cupti::kMaxLimitReached;
  const size_t stride = stride_at(at);
  if (stride == 0)
    return cupti::kInvalidKind;
  if (at + stride > valid_bytes)
    return cupti::kMaxLimitReached;
  *record = buffer + at;
  return cupti::kSuccess;
}

// The original buffers, with records that point to `texts`.
struct CuptiFixture {
  std::string origin;
  uint32_t cupti_version = 0;
  Strides strides;
  std::vector<ClockTriple> clocks;
  std::deque<std::string> texts;
  std::map<std::pair<uint32_t, uint32_t>, std::string> calls;  // names by domain and callback
  std::vector<std::vector<uint8_t>> buffers;
  uint64_t dropped_records = 0;
  uint64_t left_out = 0;
  bool complete = false;
};

class CuptiFixtureReader {
 public:
  // Throws std::runtime_error if the file is not a fixture. Data after a cut is missing.
  explicit CuptiFixtureReader(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string all{std::istreambuf_iterator<char>(file), {}};
    if (!all.starts_with(kFixtureMagic))
      throw std::runtime_error(path + " is not a fixture");
    std::string_view rest = std::string_view(all).substr(kFixtureMagic.size());
    constexpr size_t kHead = 8;
    while (rest.size() >= kHead) {
      const size_t bytes = value<uint32_t>(rest.substr(4));
      if (bytes > rest.size() - kHead)
        return;
      add(rest.substr(0, 4), rest.substr(kHead, bytes));
      rest.remove_prefix(kHead + bytes);
    }
  }

  CuptiFixture fixture;

 private:
  // Missing bytes are 0.
  template <class T>
  static T value(std::string_view bytes) {
    T result{};
    std::memcpy(&result, bytes.data(), std::min(sizeof(T), bytes.size()));
    return result;
  }

  void add(std::string_view tag, std::string_view bytes) {
    if (tag == "ORGN") {
      fixture.origin = bytes;
    } else if (tag == "VERS") {
      fixture.cupti_version = value<uint32_t>(bytes);
    } else if (tag == "STRD") {
      fixture.strides.bytes = value<std::array<uint32_t, Strides::kKinds>>(bytes);
    } else if (tag == "CLCK") {
      fixture.clocks.push_back(value<ClockTriple>(bytes));
    } else if (tag == "NAME" && bytes.size() >= sizeof(uint64_t)) {
      fixture.texts.emplace_back(bytes.substr(sizeof(uint64_t)));
      names_[value<uint64_t>(bytes)] = fixture.texts.back().c_str();
    } else if (tag == "CALL" && bytes.size() >= sizeof(uint64_t)) {
      const auto [domain, callback] = value<std::array<uint32_t, 2>>(bytes);
      fixture.calls[{domain, callback}] = bytes.substr(sizeof(uint64_t));
    } else if (tag == "BUFR") {
      add_buffer(bytes);
    } else if (tag == "LOST") {
      const auto lost = value<std::array<uint64_t, 2>>(bytes);
      fixture.dropped_records = lost[0];
      fixture.left_out = lost[1];
      fixture.complete = true;
    }
  }

  void add_buffer(std::string_view bytes) {
    std::vector<uint8_t>& buffer = fixture.buffers.emplace_back(bytes.begin(), bytes.end());
    current_strides() = fixture.strides;
    CuptiWalk walk(next_by_strides, fixture.strides, buffer.data(), buffer.size());
    while (walk.step() == CuptiWalk::State::at_record) {
      if (walk.kind() != cupti::kKernel && walk.kind() != cupti::kConcurrentKernel)
        continue;
      const auto known =
          names_.find(reinterpret_cast<uint64_t>(walk.record().get(cupti::kernel::name)));
      const char* text = known == names_.end() ? nullptr : known->second;
      std::memcpy(buffer.data() + walk.offset() + cupti::kernel::name.offset, &text, sizeof(text));
    }
  }

  std::map<uint64_t, const char*> names_;
};

}  // namespace perfprobe::test
