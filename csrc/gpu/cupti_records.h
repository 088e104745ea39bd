// Offsets of the fields in CUPTI's records, from cupti_activity.h, 12.1 to 13.5.
//
// The constants are defined here, so that the build needs no CUDA headers. From version to version
// records only became longer: a field keeps its offset, and exists if the record of the loaded
// library is long enough. tests/native/cupti_records_test.cpp compares with the headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfprobe::cupti {

// CUpti_ActivityKind
inline constexpr uint32_t kMemcpy = 1;
inline constexpr uint32_t kMemset = 2;
inline constexpr uint32_t kKernel = 3;
inline constexpr uint32_t kDriver = 4;
inline constexpr uint32_t kRuntime = 5;
inline constexpr uint32_t kConcurrentKernel = 10;
inline constexpr uint32_t kOverhead = 17;
inline constexpr uint32_t kMemcpy2 = 22;  // between two devices
inline constexpr uint32_t kSynchronization = 38;
inline constexpr uint32_t kExternalCorrelation = 39;
inline constexpr uint32_t kGraphTrace = 51;  // a whole graph
inline constexpr uint32_t kKinds[] = {
    kMemcpy,           kMemset,   kKernel,  kDriver,          kRuntime,
    kConcurrentKernel, kOverhead, kMemcpy2, kSynchronization, kExternalCorrelation,
    kGraphTrace};

inline constexpr uint32_t kSuccess = 0;           // CUptiResult
inline constexpr uint32_t kMaxLimitReached = 12;  // the end of a buffer
inline constexpr uint32_t kInvalidKind = 21;
inline constexpr uint32_t kDriverDomain = 1;  // CUpti_CallbackDomain
inline constexpr uint32_t kRuntimeDomain = 2;
inline constexpr uint32_t kGetVersion = 2;    // cuDriverGetVersion, and cudaRuntimeGetVersion
inline constexpr uint32_t kExternalKind = 5;  // CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2
inline constexpr uint32_t kAsync = 1;         // CUPTI_ACTIVITY_FLAG_{MEMCPY,MEMSET}_ASYNC
inline constexpr uint32_t kNotApplicable = 0xffff'ffff;  // CUPTI_SYNCHRONIZATION_INVALID_VALUE

// The highest known values of CUpti_ActivityMemcpyKind, ...MemoryKind and ...SynchronizationType; 0
// is unknown.
inline constexpr uint8_t kCopyKinds = 11;
inline constexpr uint8_t kMemoryKinds = 8;
inline constexpr uint8_t kWaitKinds = 5;

template <class T>
struct Field {
  using Type = T;
  size_t offset;
};

inline constexpr Field<uint32_t> kind{0};

namespace kernel {
inline constexpr Field<uint16_t> registers{6};
inline constexpr Field<uint64_t> start{16};
inline constexpr Field<uint64_t> end{24};
inline constexpr Field<uint32_t> device{40};
inline constexpr Field<uint32_t> context{44};
inline constexpr Field<uint32_t> stream{48};
inline constexpr Field<int32_t> grid_x{52};
inline constexpr Field<int32_t> grid_y{56};
inline constexpr Field<int32_t> grid_z{60};
inline constexpr Field<int32_t> block_x{64};
inline constexpr Field<int32_t> block_y{68};
inline constexpr Field<int32_t> block_z{72};
inline constexpr Field<int32_t> static_shared{76};
inline constexpr Field<int32_t> dynamic_shared{80};
inline constexpr Field<uint32_t> local_per_thread{84};
inline constexpr Field<uint32_t> correlation{92};
inline constexpr Field<const char*> name{104};
inline constexpr Field<uint64_t> graph_node{144};
inline constexpr Field<uint32_t> graph{156};
}  // namespace kernel

namespace memcpy {
inline constexpr Field<uint8_t> copy_kind{4};
inline constexpr Field<uint8_t> source_kind{5};
inline constexpr Field<uint8_t> destination_kind{6};
inline constexpr Field<uint8_t> flags{7};
inline constexpr Field<uint64_t> bytes{8};
inline constexpr Field<uint64_t> start{16};
inline constexpr Field<uint64_t> end{24};
inline constexpr Field<uint32_t> device{32};
inline constexpr Field<uint32_t> context{36};
inline constexpr Field<uint32_t> stream{40};
inline constexpr Field<uint32_t> correlation{44};
inline constexpr Field<uint64_t> graph_node{64};
inline constexpr Field<uint32_t> graph{72};
}  // namespace memcpy

namespace memcpy2 {  // as memcpy up to `stream`
inline constexpr Field<uint32_t> source_device{44};
inline constexpr Field<uint32_t> destination_device{52};
inline constexpr Field<uint32_t> correlation{60};
inline constexpr Field<uint64_t> graph_node{72};
inline constexpr Field<uint32_t> graph{80};
}  // namespace memcpy2

namespace memset {  // as memcpy from `bytes` to `graph`
inline constexpr Field<uint16_t> flags{48};
inline constexpr Field<uint16_t> memory_kind{50};
}  // namespace memset

namespace api {
inline constexpr Field<uint32_t> callback{4};
inline constexpr Field<uint64_t> start{8};
inline constexpr Field<uint64_t> end{16};
inline constexpr Field<uint32_t> thread{28};
inline constexpr Field<uint32_t> correlation{32};
inline constexpr Field<uint32_t> result{36};
}  // namespace api

namespace synchronization {
inline constexpr Field<uint32_t> type{4};
inline constexpr Field<uint64_t> start{8};
inline constexpr Field<uint64_t> end{16};
inline constexpr Field<uint32_t> correlation{24};
inline constexpr Field<uint32_t> context{28};
inline constexpr Field<uint32_t> stream{32};
}  // namespace synchronization

namespace overhead {
inline constexpr Field<uint32_t> overhead_kind{4};
inline constexpr Field<uint64_t> start{24};
inline constexpr Field<uint64_t> end{32};
}  // namespace overhead

namespace graph_trace {
inline constexpr Field<uint32_t> correlation{4};
inline constexpr Field<uint64_t> start{8};
inline constexpr Field<uint64_t> end{16};
inline constexpr Field<uint32_t> device{24};
inline constexpr Field<uint32_t> graph{28};
inline constexpr Field<uint32_t> context{32};
inline constexpr Field<uint32_t> stream{36};
}  // namespace graph_trace

namespace external {
inline constexpr Field<uint32_t> external_kind{4};
inline constexpr Field<uint64_t> id{8};
inline constexpr Field<uint32_t> correlation{16};
}  // namespace external

}  // namespace perfprobe::cupti
