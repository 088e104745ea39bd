// The functions of libcupti.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "state.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using standin::failure;
using standin::state;

constexpr uint32_t kInvalidParameter = 1;
constexpr uint32_t kInvalidOperation = 7;
constexpr uint32_t kNoMore = 12;
constexpr uint32_t kNotCompatible = 14;
constexpr uint32_t kInvalidKind = 21;
constexpr uint32_t kOtherClient = 39;

struct SubscriberParams {
  size_t struct_bytes;
  const char* name;
  char* other_name;
  size_t other_name_bytes;
};

struct CallName {
  uint32_t domain, callback;
  const char* name;
};

constexpr CallName kNames[] = {
    {1, 2, "cuDriverGetVersion"},
    {1, 17, "cuCtxSynchronize"},
    {1, 307, "cuLaunchKernel"},
    {2, 17, "cudaGetDevice_v3020"},
    {2, 41, "cudaMemcpyAsync_v3020"},
    {2, 31, "cudaMemcpy_v3020"},
    {2, 51, "cudaMemsetAsync_v3020"},
    {2, 131, "cudaStreamSynchronize_v3020"},
    {2, 211, "cudaLaunchKernel_v7000"},
    {2, 311, "cudaGraphLaunch_v10000"},
    {2, 503, "__cudaPopCallConfiguration_v13000"},
    {2, 505, "__cudaLaunchKernel_v13000"},
};

uint32_t subscribe(const char* function, void** subscriber) {
  if (const uint32_t code = failure(function); code != 0)
    return code;
  const std::lock_guard lock(state().mutex);
  if (state().is_subscribed || std::getenv("STANDIN_CLIENT") != nullptr)
    return kOtherClient;
  state().is_subscribed = true;
  ++state().sessions;
  *subscriber = &state();
  return 0;
}

// The code for a call that names no subscriber. Called with the lock held.
uint32_t refusal(const char* function) {
  if (state().is_newer_subscriber && standin::refuses_older_calls())
    return kNotCompatible;
  return failure(function);
}

}  // namespace

EXPORT uint32_t cuptiGetTimestamp(uint64_t* timestamp) {
  const std::lock_guard lock(state().mutex);
  *timestamp = state().now();
  return refusal("cuptiGetTimestamp");
}

EXPORT uint32_t cuptiGetVersion(uint32_t* version) {
  *version = standin::layout().version;
  return failure("cuptiGetVersion");
}

EXPORT uint32_t cuptiSubscribe(void** subscriber, void* /*callback*/, void* /*data*/) {
  return subscribe("cuptiSubscribe", subscriber);
}

EXPORT uint32_t cuptiSubscribe_v2(void** subscriber, void* /*callback*/, void* /*data*/,
                                  SubscriberParams* params) {
  const uint32_t code = subscribe("cuptiSubscribe_v2", subscriber);
  if (code == 0) {
    const std::lock_guard lock(state().mutex);
    state().is_newer_subscriber = true;
  }
  const char* other = std::getenv("STANDIN_CLIENT");
  if (code == kOtherClient && other != nullptr && params->other_name_bytes > 0) {
    std::strncpy(params->other_name, other, params->other_name_bytes - 1);
    params->other_name[params->other_name_bytes - 1] = '\0';
  }
  return code;
}

EXPORT uint32_t cuptiUnsubscribe(void* /*subscriber*/) {
  const std::lock_guard lock(state().mutex);
  state().is_subscribed = false;
  state().is_newer_subscriber = false;
  return failure("cuptiUnsubscribe");
}

EXPORT uint32_t cuptiSetThreadIdType(uint32_t type) {
  const std::lock_guard lock(state().mutex);
  state().are_threads_known = type == 1;
  return failure("cuptiSetThreadIdType");
}

EXPORT uint32_t cuptiActivityRegisterTimestampCallback(uint64_t (*clock)()) {
  if (clock == nullptr)
    return kInvalidParameter;
  const std::lock_guard lock(state().mutex);
  const uint32_t code = refusal("cuptiActivityRegisterTimestampCallback");
  if (code == 0)
    state().set_clock(clock);
  return code;
}

EXPORT uint32_t cuptiActivityRegisterCallbacks(standin::OnRequest request,
                                               standin::OnComplete complete) {
  const std::lock_guard lock(state().mutex);
  state().on_request = request;
  state().on_complete = complete;
  return refusal("cuptiActivityRegisterCallbacks");
}

EXPORT uint32_t cuptiActivitySetAttribute(uint32_t attribute, size_t* bytes, void* value) {
  constexpr uint32_t kZeroedBuffers = 5;
  const std::lock_guard lock(state().mutex);
  if (attribute == kZeroedBuffers && *bytes == 1)
    state().are_zeros_promised = *static_cast<const uint8_t*>(value) != 0;
  return failure("cuptiActivitySetAttribute");
}

EXPORT uint32_t cuptiActivityEnable(uint32_t kind) {
  if (const uint32_t code = failure(("cuptiActivityEnable" + std::to_string(kind)).c_str());
      code != 0)
    return code;
  if (standin::stride(kind) == 0)
    return kInvalidKind;
  const std::lock_guard lock(state().mutex);
  if (const uint32_t code = refusal("cuptiActivityEnable"); code != 0)
    return code;
  state().kinds.insert(kind);
  if (kind == standin::kRuntime || kind == standin::kDriver)
    state().filters.at(kind == standin::kDriver ? 1 : 2) = {};
  return 0;
}

EXPORT uint32_t cuptiActivityDisable(uint32_t kind) {
  const std::lock_guard lock(state().mutex);
  state().kinds.erase(kind);
  return failure("cuptiActivityDisable");
}

namespace {

uint32_t choose(uint32_t domain, uint32_t callback, uint8_t on) {
  const std::lock_guard lock(state().mutex);
  standin::Filter& filter = state().filters.at(domain);
  filter.on.erase(callback);
  filter.off.erase(callback);
  (on != 0 ? filter.on : filter.off).insert(callback);
  return 0;
}

}  // namespace

EXPORT uint32_t cuptiActivityEnableRuntimeApi(uint32_t callback, uint8_t on) {
  return choose(2, callback, on);
}

EXPORT uint32_t cuptiActivityEnableDriverApi(uint32_t callback, uint8_t on) {
  return choose(1, callback, on);
}

EXPORT uint32_t cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id) {
  standin::external_ids()[kind].push_back(id);
  return 0;
}

EXPORT uint32_t cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t* last) {
  auto& ids = standin::external_ids()[kind];
  if (ids.empty())
    return 18;  // CUPTI_ERROR_QUEUE_EMPTY
  *last = ids.back();
  ids.pop_back();
  return 0;
}

EXPORT uint32_t cuptiActivityFlushAll(uint32_t flag) {
  std::this_thread::sleep_for(std::chrono::milliseconds(standin::setting("STANDIN_SLOW_FLUSH", 0)));
  const std::lock_guard lock(state().mutex);
  if (state().on_request == nullptr)
    return kInvalidOperation;
  state().flush(flag == 1);
  return 0;
}

EXPORT uint32_t cuptiActivityGetNumDroppedRecords(void* /*context*/, uint32_t /*stream*/,
                                                  size_t* dropped) {
  const std::lock_guard lock(state().mutex);
  *dropped = std::exchange(state().dropped, 0);
  return 0;
}

EXPORT uint32_t cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_bytes, void** record) {
  uint8_t* next = buffer;
  uint32_t kind = 0;
  if (*record != nullptr) {
    std::memcpy(&kind, *record, sizeof kind);
    next = static_cast<uint8_t*>(*record) + standin::stride(kind);
  }
  if (next + sizeof kind > buffer + valid_bytes)
    return kNoMore;
  std::memcpy(&kind, next, sizeof kind);
  if (standin::stride(kind) == 0)
    return kInvalidKind;
  *record = next;
  return 0;
}

EXPORT uint32_t cuptiGetCallbackName(uint32_t domain, uint32_t callback, const char** name) {
  const auto* found = std::find_if(
      std::begin(kNames), std::end(kNames),
      [&](const CallName& known) { return known.domain == domain && known.callback == callback; });
  if (found == std::end(kNames))
    return kInvalidParameter;
  *name = found->name;
  return 0;
}
