// The interface between NVTX and a tool, declared after the public structures in nvToolsExt.h and
// nvtxDetail/nvtxTypes.h of github.com/NVIDIA/NVTX (version 3).
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfprobe::nvtx {

using Handle = void*;  // of a domain, or of a registered string

struct Attributes {
  uint16_t version;
  uint16_t size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type;
  int32_t reserved;
  uint64_t payload;
  int32_t message_type;
  union {
    const char* ascii;
    const wchar_t* wide;
    Handle registered;
  } message;
};
static_assert(sizeof(Attributes) == 48 && offsetof(Attributes, message) == 40);

enum MessageType : int32_t { kAscii = 1, kWide = 2, kRegistered = 3 };

// The result of a push if no tool tracks depth, as without any tool.
constexpr int kNoTracking = -2;

using Function = void (*)();
// A table of the places where NVTX stores its function pointers.
using FunctionTable = Function**;

enum Module : int32_t { kCore = 1, kCore2 = 5 };

struct Callbacks {
  size_t struct_size;
  int (*table_of)(int32_t module, FunctionTable* table, unsigned* size);
};

using GetExportTable = const void* (*)(uint32_t id);
constexpr uint32_t kCallbacksId = 1;

enum CoreFunction : unsigned {
  kMarkEx = 1,
  kMarkA,
  kMarkW,
  kRangeStartEx,
  kRangeStartA,
  kRangeStartW,
  kRangeEnd,
  kRangePushEx,
  kRangePushA,
  kRangePushW,
  kRangePop,
  kNameOsThreadA = 14,
  kNameOsThreadW,
};

enum Core2Function : unsigned {
  kDomainMarkEx = 1,
  kDomainRangeStartEx,
  kDomainRangeEnd,
  kDomainRangePushEx,
  kDomainRangePop,
  kDomainRegisterStringA = 10,
  kDomainRegisterStringW,
  kDomainCreateA,
  kDomainCreateW,
};

}  // namespace perfprobe::nvtx
