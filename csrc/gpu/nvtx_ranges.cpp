#include "gpu/nvtx_ranges.h"

#ifdef PERFPROBE_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

namespace perfprobe::nvtx {

#ifdef PERFPROBE_NVTX
namespace {

// A tool identifies domains by handles. Without a tool there is no domain.
nvtxDomainHandle_t domain() {
  static nvtxDomainHandle_t made = nvtxDomainCreateA("perfprobe");
  return made;
}

nvtxEventAttributes_t attributes(Message message) {
  nvtxEventAttributes_t made{};
  made.version = NVTX_VERSION;
  made.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  made.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  made.message.registered = static_cast<nvtxStringHandle_t>(const_cast<void*>(message));
  return made;
}

}  // namespace

const char* missing() {
  return domain() == nullptr ? "no tool listens through NVTX" : nullptr;
}

Message message(const char* text) {
  return domain() == nullptr ? nullptr : nvtxDomainRegisterStringA(domain(), text);
}

void push(Message message, uint64_t payload) {
  if (domain() == nullptr)
    return;
  nvtxEventAttributes_t event = attributes(message);
  event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  event.payload.ullValue = payload;
  nvtxDomainRangePushEx(domain(), &event);
}

void pop() {
  if (domain() != nullptr)
    nvtxDomainRangePop(domain());
}

uint64_t start(Message message) {
  if (domain() == nullptr)
    return 0;
  const nvtxEventAttributes_t event = attributes(message);
  return nvtxDomainRangeStartEx(domain(), &event);
}

void end(uint64_t range) {
  if (domain() != nullptr)
    nvtxDomainRangeEnd(domain(), range);
}

void mark(Message message) {
  if (domain() == nullptr)
    return;
  const nvtxEventAttributes_t event = attributes(message);
  nvtxDomainMarkEx(domain(), &event);
}

#else

const char* missing() {
  return "perfprobe was built without the NVTX headers (the package nvidia-nvtx)";
}
Message message(const char* /*text*/) {
  return nullptr;
}
void push(Message /*message*/, uint64_t /*payload*/) {}
void pop() {}
uint64_t start(Message /*message*/) {
  return 0;
}
void end(uint64_t /*range*/) {}
void mark(Message /*message*/) {}

#endif

}  // namespace perfprobe::nvtx
