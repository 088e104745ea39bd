// Compares our constants with NVIDIA's headers, if they are installed. Wrong constants do not
// compile.
#include "gpu/cupti_records.h"

#include <cstdio>

// CUPTI's wheel alone does not contain the other two headers, which its own header includes.
#if __has_include(<cupti_activity.h>) && __has_include(<cuda.h>) && __has_include(<crt/host_defines.h>)
#include <type_traits>

#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_version.h>

namespace records = perfprobe::cupti;

template <class Ours, class Theirs>
constexpr bool same_type() {
  using Type = typename Ours::Type;
  if constexpr (std::is_enum_v<Theirs>)
    return sizeof(Type) == sizeof(Theirs);
  else
    return std::is_same_v<Type, Theirs>;
}

#define SAME(structure, member, field)                                  \
  static_assert(offsetof(structure, member) == records::field.offset && \
                same_type<std::remove_cv_t<decltype(records::field)>,   \
                          std::remove_reference_t<decltype(structure::member)>>())

#define SAME_KERNEL(structure)                                     \
  SAME(structure, kind, kind);                                     \
  SAME(structure, registersPerThread, kernel::registers);          \
  SAME(structure, start, kernel::start);                           \
  SAME(structure, end, kernel::end);                               \
  SAME(structure, deviceId, kernel::device);                       \
  SAME(structure, contextId, kernel::context);                     \
  SAME(structure, streamId, kernel::stream);                       \
  SAME(structure, gridX, kernel::grid_x);                          \
  SAME(structure, gridY, kernel::grid_y);                          \
  SAME(structure, gridZ, kernel::grid_z);                          \
  SAME(structure, blockX, kernel::block_x);                        \
  SAME(structure, blockY, kernel::block_y);                        \
  SAME(structure, blockZ, kernel::block_z);                        \
  SAME(structure, staticSharedMemory, kernel::static_shared);      \
  SAME(structure, dynamicSharedMemory, kernel::dynamic_shared);    \
  SAME(structure, localMemoryPerThread, kernel::local_per_thread); \
  SAME(structure, correlationId, kernel::correlation);             \
  SAME(structure, name, kernel::name);                             \
  SAME(structure, graphNodeId, kernel::graph_node);                \
  SAME(structure, graphId, kernel::graph)

#define SAME_PLACE(structure)                  \
  SAME(structure, kind, kind);                 \
  SAME(structure, bytes, memcpy::bytes);       \
  SAME(structure, start, memcpy::start);       \
  SAME(structure, end, memcpy::end);           \
  SAME(structure, deviceId, memcpy::device);   \
  SAME(structure, contextId, memcpy::context); \
  SAME(structure, streamId, memcpy::stream)

#define SAME_SORT(structure)                          \
  SAME(structure, copyKind, memcpy::copy_kind);       \
  SAME(structure, srcKind, memcpy::source_kind);      \
  SAME(structure, dstKind, memcpy::destination_kind); \
  SAME(structure, flags, memcpy::flags)

#define SAME_MEMCPY(structure)                         \
  SAME_PLACE(structure);                               \
  SAME_SORT(structure);                                \
  SAME(structure, correlationId, memcpy::correlation); \
  SAME(structure, graphNodeId, memcpy::graph_node);    \
  SAME(structure, graphId, memcpy::graph)

#define SAME_MEMSET(structure)                         \
  SAME_PLACE(structure);                               \
  SAME(structure, correlationId, memcpy::correlation); \
  SAME(structure, graphNodeId, memcpy::graph_node);    \
  SAME(structure, graphId, memcpy::graph);             \
  SAME(structure, flags, memset::flags);               \
  SAME(structure, memoryKind, memset::memory_kind)

#define SAME_SYNCHRONIZATION(structure)                         \
  SAME(structure, kind, kind);                                  \
  SAME(structure, type, synchronization::type);                 \
  SAME(structure, start, synchronization::start);               \
  SAME(structure, end, synchronization::end);                   \
  SAME(structure, correlationId, synchronization::correlation); \
  SAME(structure, contextId, synchronization::context);         \
  SAME(structure, streamId, synchronization::stream)

#define SAME_OVERHEAD(structure)                          \
  SAME(structure, kind, kind);                            \
  SAME(structure, overheadKind, overhead::overhead_kind); \
  SAME(structure, start, overhead::start);                \
  SAME(structure, end, overhead::end)

SAME_KERNEL(CUpti_ActivityKernel6);
SAME_KERNEL(CUpti_ActivityKernel7);
SAME_KERNEL(CUpti_ActivityKernel8);
SAME_KERNEL(CUpti_ActivityKernel9);
SAME_MEMCPY(CUpti_ActivityMemcpy5);
SAME_MEMSET(CUpti_ActivityMemset4);
SAME_SYNCHRONIZATION(CUpti_ActivitySynchronization);
SAME_OVERHEAD(CUpti_ActivityOverhead);
#if CUPTI_API_VERSION >= 22  // 12.4
SAME_OVERHEAD(CUpti_ActivityOverhead3);
#endif
#if CUPTI_API_VERSION >= 26  // 12.8
SAME_MEMCPY(CUpti_ActivityMemcpy6);
SAME_SYNCHRONIZATION(CUpti_ActivitySynchronization2);
#endif
#if CUPTI_API_VERSION >= 130000
SAME_KERNEL(CUpti_ActivityKernel10);
#endif
#if CUPTI_API_VERSION >= 130100
SAME_KERNEL(CUpti_ActivityKernel11);
#endif
#if CUPTI_API_VERSION >= 130300
SAME_KERNEL(CUpti_ActivityKernel12);
#endif
#if CUPTI_API_VERSION >= 130400
SAME_KERNEL(CUpti_ActivityKernel13);
SAME_MEMCPY(CUpti_ActivityMemcpy7);
SAME_MEMSET(CUpti_ActivityMemset5);
#endif

SAME_PLACE(CUpti_ActivityMemcpyPtoP4);
SAME_SORT(CUpti_ActivityMemcpyPtoP4);
SAME(CUpti_ActivityMemcpyPtoP4, srcDeviceId, memcpy2::source_device);
SAME(CUpti_ActivityMemcpyPtoP4, dstDeviceId, memcpy2::destination_device);
SAME(CUpti_ActivityMemcpyPtoP4, correlationId, memcpy2::correlation);
SAME(CUpti_ActivityMemcpyPtoP4, graphNodeId, memcpy2::graph_node);
SAME(CUpti_ActivityMemcpyPtoP4, graphId, memcpy2::graph);

SAME(CUpti_ActivityAPI, kind, kind);
SAME(CUpti_ActivityAPI, cbid, api::callback);
SAME(CUpti_ActivityAPI, start, api::start);
SAME(CUpti_ActivityAPI, end, api::end);
SAME(CUpti_ActivityAPI, threadId, api::thread);
SAME(CUpti_ActivityAPI, correlationId, api::correlation);
SAME(CUpti_ActivityAPI, returnValue, api::result);

SAME(CUpti_ActivityExternalCorrelation, kind, kind);
SAME(CUpti_ActivityGraphTrace2, correlationId, graph_trace::correlation);
SAME(CUpti_ActivityGraphTrace2, start, graph_trace::start);
SAME(CUpti_ActivityGraphTrace2, end, graph_trace::end);
SAME(CUpti_ActivityGraphTrace2, deviceId, graph_trace::device);
SAME(CUpti_ActivityGraphTrace2, graphId, graph_trace::graph);
SAME(CUpti_ActivityGraphTrace2, contextId, graph_trace::context);
SAME(CUpti_ActivityGraphTrace2, streamId, graph_trace::stream);
SAME(CUpti_ActivityExternalCorrelation, externalKind, external::external_kind);
SAME(CUpti_ActivityExternalCorrelation, externalId, external::id);
SAME(CUpti_ActivityExternalCorrelation, correlationId, external::correlation);

static_assert(records::kMemcpy == CUPTI_ACTIVITY_KIND_MEMCPY);
static_assert(records::kMemset == CUPTI_ACTIVITY_KIND_MEMSET);
static_assert(records::kKernel == CUPTI_ACTIVITY_KIND_KERNEL);
static_assert(records::kDriver == CUPTI_ACTIVITY_KIND_DRIVER);
static_assert(records::kRuntime == CUPTI_ACTIVITY_KIND_RUNTIME);
static_assert(records::kConcurrentKernel == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
static_assert(records::kOverhead == CUPTI_ACTIVITY_KIND_OVERHEAD);
static_assert(records::kMemcpy2 == CUPTI_ACTIVITY_KIND_MEMCPY2);
static_assert(records::kSynchronization == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
static_assert(records::kExternalCorrelation == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
static_assert(records::kSuccess == CUPTI_SUCCESS);
static_assert(records::kMaxLimitReached == CUPTI_ERROR_MAX_LIMIT_REACHED);
static_assert(records::kInvalidKind == CUPTI_ERROR_INVALID_KIND);
static_assert(records::kDriverDomain == CUPTI_CB_DOMAIN_DRIVER_API);
static_assert(records::kRuntimeDomain == CUPTI_CB_DOMAIN_RUNTIME_API);
static_assert(records::kExternalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2);
static_assert(records::kAsync == CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
static_assert(records::kAsync == CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC);
static_assert(records::kNotApplicable ==
              static_cast<uint32_t>(CUPTI_SYNCHRONIZATION_INVALID_VALUE));
static_assert(records::kCopyKinds == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP + 1);
static_assert(records::kMemoryKinds == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC + 1);
static_assert(records::kWaitKinds == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE + 1);

int main() {
  std::printf("checked with CUPTI API version %d\n", CUPTI_API_VERSION);
  return 0;
}
#else
int main() {
  std::puts("not checked: no cupti_activity.h was found when this was built");
  return 77;  // the exit code of a skipped test in tests/native/CMakeLists.txt
}
#endif
