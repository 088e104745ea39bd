// A tool for NVTX, using NVTX's own header.
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include "heard.h"

namespace {

using namespace perfprobe::listener;

// One for all other domains, and one for perfprobe's.
char domains[2];

nvtxDomainHandle_t own_domain() {
  return reinterpret_cast<nvtxDomainHandle_t>(&domains[1]);
}

nvtxDomainHandle_t create_domain(const char* name) {
  if (!is_own_domain(name))
    return reinterpret_cast<nvtxDomainHandle_t>(&domains[0]);
  log("domain", name);
  return own_domain();
}

bool is_heard(nvtxDomainHandle_t domain) {
  return domain == own_domain() && is_logging();
}

nvtxStringHandle_t register_string(nvtxDomainHandle_t domain, const char* text) {
  if (is_heard(domain))
    log("text", text);
  return reinterpret_cast<nvtxStringHandle_t>(const_cast<char*>(kept(text)));
}

const char* text_of(const nvtxEventAttributes_t* event) {
  const bool registered = event->messageType == NVTX_MESSAGE_TYPE_REGISTERED;
  return registered ? reinterpret_cast<const char*>(event->message.registered) : "(not registered)";
}

int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  if (!is_heard(domain))
    return 0;
  log("push", text_of(event));
  if (event->payloadType == NVTX_PAYLOAD_TYPE_UNSIGNED_INT64)
    log("payload", std::to_string(event->payload.ullValue));
  return 0;
}

int pop(nvtxDomainHandle_t domain) {
  if (is_heard(domain))
    log("pop");
  return 0;
}

nvtxRangeId_t begin(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  return domain == own_domain() ? begin_range(text_of(event)) : 0;
}

void end(nvtxDomainHandle_t domain, nvtxRangeId_t range) {
  if (domain == own_domain())
    end_range(range);
}

void mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  if (is_heard(domain))
    log("mark", text_of(event));
}

template <class Function>
void set(NvtxFunctionTable table, unsigned place, Function* function) {
  *table[place] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

EXPORTED int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0)
    return 0;
  set(table, NVTX_CBID_CORE2_DomainCreateA, create_domain);
  set(table, NVTX_CBID_CORE2_DomainRegisterStringA, register_string);
  set(table, NVTX_CBID_CORE2_DomainRangePushEx, push);
  set(table, NVTX_CBID_CORE2_DomainRangePop, pop);
  set(table, NVTX_CBID_CORE2_DomainRangeStartEx, begin);
  set(table, NVTX_CBID_CORE2_DomainRangeEnd, end);
  set(table, NVTX_CBID_CORE2_DomainMarkEx, mark);
  return 1;
}
