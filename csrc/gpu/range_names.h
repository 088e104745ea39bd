// Texts of ranges and domains, numbered once until the process ends: NVTX and ITT return handles to
// texts that outlive a recording.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/intern_table.h"
#include "core/mapped_memory.h"

namespace perfprobe {

class RangeNames {
 public:
  static constexpr size_t kMost = 65'536;  // further texts are "(other)"
  static constexpr size_t kMostBytes = 1024;
  // Numbers of texts that always exist.
  static constexpr int32_t kOther = 0;
  static constexpr int32_t kUnnamed = 1;

  RangeNames();

  // `cache`: of the calling thread, which then needs no lock for texts it has used before.
  int32_t find(std::string_view text, InternTable& cache);
  int32_t find(const char* text, InternTable& cache);
  int32_t find(const wchar_t* text, InternTable& cache);
  [[nodiscard]] const char* text(int32_t name);

  // Held around a fork, so that the child's copy is consistent.
  std::mutex& mutex() { return mutex_; }

 private:
  int32_t add(std::string_view text);

  std::mutex mutex_;
  MappedPool pool_;
  MappedVector<const char*> texts_;
  std::pmr::unordered_map<std::pmr::string, int32_t> numbers_{pool_.resource()};
};

}  // namespace perfprobe
