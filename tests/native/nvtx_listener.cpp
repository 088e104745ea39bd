// A tool as small as NVTX allows: writes down what it is told, for a test to ask.
#define NVTX_NO_IMPL
#include <list>
#include <string>
#include <vector>

#include <nvtx3/nvToolsExt.h>

namespace {

std::vector<std::string> heard;
std::list<std::string> strings;

nvtxDomainHandle_t create(const char* name) {
  heard.push_back(std::string("domain ") + name);
  return reinterpret_cast<nvtxDomainHandle_t>(1);
}

nvtxStringHandle_t string(nvtxDomainHandle_t /*domain*/, const char* text) {
  return reinterpret_cast<nvtxStringHandle_t>(&strings.emplace_back(text));
}

std::string told(const char* what, const nvtxEventAttributes_t* event) {
  const auto* text = reinterpret_cast<const std::string*>(event->message.registered);
  const bool has_number = event->payloadType == NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  return std::string(what) + " " + *text +
         (has_number ? " " + std::to_string(event->payload.ullValue) : "");
}

int push(nvtxDomainHandle_t /*domain*/, const nvtxEventAttributes_t* event) {
  heard.push_back(told("push", event));
  return 0;
}

int pop(nvtxDomainHandle_t /*domain*/) {
  heard.emplace_back("pop");
  return 0;
}

nvtxRangeId_t start(nvtxDomainHandle_t /*domain*/, const nvtxEventAttributes_t* event) {
  heard.push_back(told("start", event));
  return 7;
}

void end(nvtxDomainHandle_t /*domain*/, nvtxRangeId_t id) {
  heard.push_back("end " + std::to_string(id));
}

void mark(nvtxDomainHandle_t /*domain*/, const nvtxEventAttributes_t* event) {
  heard.push_back(told("mark", event));
}

template <class Called>
void set(NvtxFunctionTable table, unsigned place, Called* function) {
  *table[place] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0)
    return 0;
  set(table, NVTX_CBID_CORE2_DomainCreateA, create);
  set(table, NVTX_CBID_CORE2_DomainRegisterStringA, string);
  set(table, NVTX_CBID_CORE2_DomainRangePushEx, push);
  set(table, NVTX_CBID_CORE2_DomainRangePop, pop);
  set(table, NVTX_CBID_CORE2_DomainRangeStartEx, start);
  set(table, NVTX_CBID_CORE2_DomainRangeEnd, end);
  set(table, NVTX_CBID_CORE2_DomainMarkEx, mark);
  return 1;
}

// What was told, line by line; gone once it was asked for.
extern "C" __attribute__((visibility("default"))) const char* take_heard() {
  static std::string lines;
  lines.clear();
  for (const std::string& line : heard)
    lines += line + "\n";
  heard.clear();
  return lines.c_str();
}
