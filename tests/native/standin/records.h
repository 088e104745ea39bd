// Records in the layout of libcupti, in the version named by STANDIN_LAYOUT.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace standin {

constexpr uint32_t kMemcpy = 1;
constexpr uint32_t kMemset = 2;
constexpr uint32_t kDriver = 4;
constexpr uint32_t kRuntime = 5;
constexpr uint32_t kKernel = 10;
constexpr uint32_t kOverhead = 17;
constexpr uint32_t kPeerMemcpy = 22;
constexpr uint32_t kSynchronization = 38;
constexpr uint32_t kExternalId = 39;
constexpr uint32_t kGraph = 51;

struct Layout {
  std::string name;
  uint32_t version;
  uint32_t kernel, memcpy, synchronization;
};

// The requested layout.
const Layout& layout();
// Bytes of a record; 0 for an unknown kind.
uint32_t stride(uint32_t kind);

struct Times {
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};

// Work of a device. `end_ns`: when the record is complete.
struct Record {
  uint32_t kind;
  uint64_t end_ns;
  std::vector<uint8_t> bytes;
};

struct Place {
  uint32_t stream;
  uint32_t correlation;
};

struct GraphPlace {
  uint32_t graph = 0;
  uint64_t node = 0;
};

Record kernel_record(const char* name, Times times, Place place, GraphPlace graph);
Record graph_record(Times times, Place place, uint32_t graph);
Record copy_record(uint32_t copy_kind, uint32_t source, uint32_t destination, bool is_async,
                   uint64_t bytes, Times times, Place place);
Record fill_record(uint64_t bytes, Times times, Place place);
Record wait_record(uint32_t type, Times times, Place place);
Record api_record(uint32_t kind, uint32_t callback, Times times, uint32_t thread,
                  uint32_t correlation);
Record external_record(uint32_t external_kind, uint64_t id, uint32_t correlation);
// For a forced flush: running work has no end, and lost work has no times.
void forget_end(Record& record);
void forget_times(Record& record);
// Times of a clock that is ahead by this.
void move_times(Record& record, uint64_t ahead_ns);

}  // namespace standin
