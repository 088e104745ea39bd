#include "records.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace standin {
namespace {

const std::array<Layout, 6> kLayouts{{
    {"12.4", 22, 208, 88, 40},
    {"12.9", 27, 208, 96, 56},
    {"13.0 GA", 130000, 216, 96, 56},
    {"13.0", 130001, 216, 96, 56},
    {"13.1", 130101, 224, 96, 56},
    {"13.2", 130200, 224, 96, 56},
}};

constexpr uint32_t kDevice = 0;
constexpr uint32_t kContext = 1;

// Fields beyond the record's length in this layout are left out.
class Maker {
 public:
  explicit Maker(uint32_t kind, uint64_t end_ns) : record_{kind, end_ns, {}} {
    record_.bytes.resize(stride(kind));
    put(0, kind);
  }
  template <class Number>
  Maker& put(size_t offset, Number number) {
    if (offset + sizeof number <= record_.bytes.size())
      std::memcpy(record_.bytes.data() + offset, &number, sizeof number);
    return *this;
  }
  Maker& put_times(size_t offset, Times times) {
    return put(offset, times.start_ns).put(offset + 8, times.end_ns);
  }
  Record done() { return std::move(record_); }

 private:
  Record record_;
};

size_t times_offset(uint32_t kind) {
  const bool is_early =
      kind == kRuntime || kind == kDriver || kind == kSynchronization || kind == kGraph;
  return is_early ? 8 : 16;
}

}  // namespace

const Layout& layout() {
  static const Layout& chosen = []() -> const Layout& {
    const char* name = std::getenv("STANDIN_LAYOUT");
    for (const Layout& known : kLayouts) {
      if (known.name == (name == nullptr ? "13.0" : name))
        return known;
    }
    std::abort();
  }();
  return chosen;
}

uint32_t stride(uint32_t kind) {
  switch (kind) {
    case kMemcpy:
      return layout().memcpy;
    case kMemset:
      return 88;
    case kDriver:
    case kRuntime:
      return 40;
    case kKernel:
      return layout().kernel;
    case kOverhead:
      return 56;
    case kPeerMemcpy:
      return 96;
    case kSynchronization:
      return layout().synchronization;
    case kExternalId:
      return 24;
    case kGraph:
      return 56;
    default:
      return 0;
  }
}

Record kernel_record(const char* name, Times times, Place place, GraphPlace graph) {
  return Maker(kKernel, times.end_ns)
      .put(6, uint16_t{32})
      .put_times(16, times)
      .put(40, kDevice)
      .put(44, kContext)
      .put(48, place.stream)
      .put(52, int32_t{8})
      .put(56, int32_t{1})
      .put(60, int32_t{1})
      .put(64, int32_t{128})
      .put(68, int32_t{1})
      .put(72, int32_t{1})
      .put(92, place.correlation)
      .put(104, name)
      .put(144, graph.node)
      .put(156, graph.graph)
      .done();
}

Record graph_record(Times times, Place place, uint32_t graph) {
  return Maker(kGraph, times.end_ns)
      .put(4, place.correlation)
      .put_times(8, times)
      .put(24, kDevice)
      .put(28, graph)
      .put(32, kContext)
      .put(36, place.stream)
      .done();
}

Record copy_record(uint32_t copy_kind, uint32_t source, uint32_t destination, bool is_async,
                   uint64_t bytes, Times times, Place place) {
  return Maker(kMemcpy, times.end_ns)
      .put(4, static_cast<uint8_t>(copy_kind))
      .put(5, static_cast<uint8_t>(source))
      .put(6, static_cast<uint8_t>(destination))
      .put(7, static_cast<uint8_t>(is_async ? 1 : 0))
      .put(8, bytes)
      .put_times(16, times)
      .put(32, kDevice)
      .put(36, kContext)
      .put(40, place.stream)
      .put(44, place.correlation)
      .done();
}

Record fill_record(uint64_t bytes, Times times, Place place) {
  return Maker(kMemset, times.end_ns)
      .put(8, bytes)
      .put_times(16, times)
      .put(32, kDevice)
      .put(36, kContext)
      .put(40, place.stream)
      .put(44, place.correlation)
      .put(48, uint16_t{1})  // async
      .put(50, uint16_t{3})
      .done();
}

Record wait_record(uint32_t type, Times times, Place place) {
  return Maker(kSynchronization, times.end_ns)
      .put(4, type)
      .put_times(8, times)
      .put(24, place.correlation)
      .put(28, kContext)
      .put(32, place.stream)
      .done();
}

Record api_record(uint32_t kind, uint32_t callback, Times times, uint32_t thread,
                  uint32_t correlation) {
  return Maker(kind, times.end_ns)
      .put(4, callback)
      .put_times(8, times)
      .put(24, static_cast<uint32_t>(::getpid()))
      .put(28, thread)
      .put(32, correlation)
      .done();
}

Record external_record(uint32_t external_kind, uint64_t id, uint32_t correlation) {
  return Maker(kExternalId, 0).put(4, external_kind).put(8, id).put(16, correlation).done();
}

void forget_end(Record& record) {
  const uint64_t none = 0;
  std::memcpy(record.bytes.data() + times_offset(record.kind) + 8, &none, sizeof none);
}

void forget_times(Record& record) {
  std::memset(record.bytes.data() + times_offset(record.kind), 0, 2 * sizeof(uint64_t));
}

void move_times(Record& record, uint64_t ahead_ns) {
  std::array<uint64_t, 2> times{};
  uint8_t* place = record.bytes.data() + times_offset(record.kind);
  std::memcpy(times.data(), place, sizeof times);
  for (uint64_t& time_ns : times)
    time_ns += ahead_ns;
  std::memcpy(place, times.data(), sizeof times);
}

}  // namespace standin
