// The ranges that torch itself sets around the parts of a program's loop.
#pragma once

#include <cstdint>
#include <cstring>

namespace perfprobe {

enum class Part : uint8_t { none, next, update, profiler };

// The names are those of perfprobe/analyse/loop/ranges.py.
inline Part part_of(const char* name) {
  const auto begins_with = [name](const char* prefix) {
    return std::strncmp(name, prefix, std::strlen(prefix)) == 0;
  };
  switch (name[0]) {
    case 'e':
      return begins_with("enumerate(Data") ? Part::next : Part::none;
    case 'O':
      return begins_with("Optimizer.step#") ? Part::update : Part::none;
    case 'P':
      return begins_with("ProfilerStep#") ? Part::profiler : Part::none;
    default:
      return Part::none;
  }
}

}  // namespace perfprobe
