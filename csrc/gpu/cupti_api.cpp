#include "gpu/cupti_api.h"

#include <array>
#include <dlfcn.h>

namespace perfprobe {
namespace {

struct Meaning {
  uint32_t code;
  const char* reason;
  const char* remedy;
};

// CUptiResult in cupti_result.h.
constexpr std::array<Meaning, 13> kMeanings{{
    {14, "a tool in this process uses CUPTI's newer interface, which excludes this one",
     "run without that tool, or leave the GPU to it with --gpu off"},
    {15, "the NVIDIA driver is older than this CUPTI, or did not start",
     "install a driver that is as new as the CUDA of this torch"},
    {33, "this virtual GPU does not allow tracing", "allow tracing in the vGPU's settings"},
    {35, "the driver allows tracing only for administrators",
     "run as root, or set NVreg_RestrictProfilingToAdminUsers=0 for the NVIDIA driver"},
    {36, "an older CUDA profiler has been started in this process", "run without that profiler"},
    {38, "this GPU or driver does not support this way of tracing",
     "use a newer driver, or a torch built for its CUDA"},
    {kOtherClient, "another tool uses CUPTI already",
     "run without that tool, record before it starts, or leave the GPU to it with --gpu off"},
    {40, "this virtual GPU allows tracing only for administrators",
     "allow tracing in the vGPU's settings"},
    {41, "confidential computing does not allow tracing", "trace on a GPU without it"},
    {42, "NVIDIA does not allow tracing on its mining processors (CMP)", "use another GPU"},
    {43, "a part of a GPU (MIG) does not allow tracing here", "use a whole GPU"},
    {45, "the Windows Subsystem for Linux does not allow tracing here",
     "allow developers the performance counters in NVIDIA's control panel"},
    {999, "CUPTI cannot work with this driver", "see what `nvidia-smi` says"},
}};

// Kineto gives no name, and CUPTI then says "CUPTI for <not provided>".
std::string in_words(std::string_view client) {
  const bool is_nameless = client.find("<not provided>") != std::string_view::npos;
  return is_nameless ? "one that gives no name, such as torch.profiler" : std::string(client);
}

}  // namespace

std::string load_cupti(void* library, CuptiApi& api) {
  std::string missing;
  const auto find = [&]<class Function>(Function& function, const char* name, bool is_needed) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr && is_needed && missing.empty())
      missing = name;
  };
  find(api.get_version, "cuptiGetVersion", true);
  find(api.subscribe, "cuptiSubscribe", true);
  find(api.subscribe_v2, "cuptiSubscribe_v2", false);
  find(api.unsubscribe, "cuptiUnsubscribe", true);
  find(api.set_thread_id_type, "cuptiSetThreadIdType", false);
  find(api.register_timestamp, "cuptiActivityRegisterTimestampCallback", true);
  find(api.get_timestamp, "cuptiGetTimestamp", false);
  find(api.register_callbacks, "cuptiActivityRegisterCallbacks", true);
  find(api.set_attribute, "cuptiActivitySetAttribute", true);
  find(api.enable, "cuptiActivityEnable", true);
  find(api.disable, "cuptiActivityDisable", true);
  find(api.enable_runtime_call, "cuptiActivityEnableRuntimeApi", false);
  find(api.enable_driver_call, "cuptiActivityEnableDriverApi", false);
  find(api.push_external_id, "cuptiActivityPushExternalCorrelationId", true);
  find(api.pop_external_id, "cuptiActivityPopExternalCorrelationId", true);
  find(api.flush_all, "cuptiActivityFlushAll", true);
  find(api.get_dropped, "cuptiActivityGetNumDroppedRecords", true);
  find(api.next_record, "cuptiActivityGetNextRecord", true);
  find(api.callback_name, "cuptiGetCallbackName", true);
  return missing;
}

CuptiFault explain(uint32_t code, std::string_view call, std::string_view other_client) {
  const std::string number = " (" + std::string(call) + ": " + std::to_string(code) + ")";
  for (const Meaning& meaning : kMeanings) {
    if (meaning.code != code)
      continue;
    std::string reason = meaning.reason;
    if (code == kOtherClient && !other_client.empty())
      reason += ": " + in_words(other_client);
    return {reason + number, meaning.remedy};
  }
  return {"CUPTI refuses" + number, ""};
}

}  // namespace perfprobe
