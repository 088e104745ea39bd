// The functions of libcupti used here, found at run time, and the meanings of its codes. Declared
// here after cupti_callbacks.h and cupti_activity.h of CUDA 12 and 13.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "gpu/cupti_strides.h"

namespace perfprobe {

// Why CUPTI or the driver refuses, in words for the user.
struct CuptiFault {
  std::string reason;
  std::string remedy;
};

inline constexpr uint32_t kOtherClient = 39;  // MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED

struct CuptiSubscriberParams {
  size_t struct_bytes;
  const char* name;
  char* other_name;
  size_t other_name_bytes;
};

// Codes are CUptiResult, 0 success. Optional functions are null if the library is too old.
struct CuptiApi {
  using Code = uint32_t;
  using Subscriber = void*;
  using OnCallback = void (*)(void*, uint32_t, uint32_t, const void*);
  using OnRequest = void (*)(uint8_t** buffer, size_t* bytes, size_t* most_records);
  using OnComplete = void (*)(void* context, uint32_t stream, uint8_t* buffer, size_t bytes,
                              size_t valid_bytes);

  Code (*get_version)(uint32_t* version);
  Code (*subscribe)(Subscriber*, OnCallback, void*);
  Code (*subscribe_v2)(Subscriber*, OnCallback, void*, CuptiSubscriberParams*);  // optional
  Code (*unsubscribe)(Subscriber);
  Code (*set_thread_id_type)(uint32_t type);  // optional
  Code (*register_timestamp)(uint64_t (*clock)());
  Code (*get_timestamp)(uint64_t* timestamp);  // optional
  Code (*register_callbacks)(OnRequest, OnComplete);
  Code (*set_attribute)(uint32_t attribute, size_t* bytes, void* value);
  Code (*enable)(uint32_t kind);
  Code (*disable)(uint32_t kind);
  Code (*enable_runtime_call)(uint32_t callback, uint8_t on);  // optional
  Code (*enable_driver_call)(uint32_t callback, uint8_t on);   // optional
  Code (*push_external_id)(uint32_t kind, uint64_t id);
  Code (*pop_external_id)(uint32_t kind, uint64_t* last);
  Code (*flush_all)(uint32_t flag);
  Code (*get_dropped)(void* context, uint32_t stream, size_t* dropped);
  NextRecord next_record;
  CallbackName callback_name;
};

// Fills `api`. Returns the name of a missing function; "" if all exist.
std::string load_cupti(void* library, CuptiApi& api);

// Returns what a code means, with the remedy. call: the function that returned it. other_client:
// the tool that CUPTI named, "" if none.
CuptiFault explain(uint32_t code, std::string_view call, std::string_view other_client = {});

}  // namespace perfprobe
