#include "gpu/cupti_session.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/clock.h"
#include "gpu/cupti_faults.h"
#include "gpu/cupti_records.h"
#include "gpu/cupti_walk.h"

namespace perfprobe {
namespace {

using Code = CuptiApi::Code;

// Values of cupti_activity.h.
constexpr uint32_t kSystemThreadIds = 1;
constexpr uint32_t kDefaultThreadIds = 0;
constexpr uint32_t kZeroedBuffers = 5;
constexpr uint32_t kForced = 1;
constexpr uint32_t kCanaryKind = 4;  // CUSTOM1: operators have CUSTOM2
constexpr uint64_t kCanary = 0x7065726670726f62;
constexpr size_t kOtherNameBytes = 256;

constexpr size_t kMostBuffers = 256;  // each thread that calls CUDA has one
// More than the calls of any version. Unknown numbers return errors.
constexpr uint32_t kCalls = 1200;

struct Kind {
  uint32_t number;
  const char* what;
  bool is_needed;
};

// Only cheap kinds. Not KERNEL, which runs kernels one at a time, and not all of DRIVER.
constexpr std::array<Kind, 7> kKinds{{
    {cupti::kConcurrentKernel, "kernels", true},
    {cupti::kRuntime, "calls of the CUDA runtime", true},
    {cupti::kMemcpy, "copies", false},
    {cupti::kMemset, "fills", false},
    {cupti::kMemcpy2, "copies between GPUs", false},
    {cupti::kSynchronization, "waits", false},
    {cupti::kOverhead, "overheads", false},
}};

// Frequent runtime calls that neither start GPU work nor wait. Not all of `__cuda`: CUDA 13
// compiles <<<>>> to __cudaLaunchKernel.
constexpr std::array<std::string_view, 19> kLeftOut{"cudaGetDevice",
                                                    "cudaSetDevice",
                                                    "cudaGetLastError",
                                                    "cudaPeekAtLastError",
                                                    "cudaEventCreate",
                                                    "cudaEventDestroy",
                                                    "cudaEventQuery",
                                                    "cudaEventRecord",
                                                    "cudaEventElapsedTime",
                                                    "cudaStreamIsCapturing",
                                                    "cudaStreamGetCaptureInfo",
                                                    "cudaDeviceGet",
                                                    "cudaFunc",
                                                    "cudaOccupancy",
                                                    "__cudaRegister",
                                                    "__cudaInitModule",
                                                    "__cudaPushCall",
                                                    "__cudaPopCall",
                                                    "__cudaGet"};

// Driver calls that start GPU work or wait, and that others than the runtime make: Triton, NCCL.
// The last one is for the canary.
constexpr std::array<std::string_view, 8> kDriverCalls{
    "cuLaunch",         "cuGraphLaunch",       "cuMemcpy",           "cuMemset",
    "cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize", "cuDriverGetVersion"};

// One for the process. Only the session that CUPTI has accepted as its client touches it.
struct GivenClock {
  decltype(CuptiApi::register_timestamp) to = nullptr;  // the library that our clock was given to
  bool is_told = false;                                 // whether the library can report its clock
};
GivenClock given_clock;
int sessions = 0;
bool is_left = false;  // a session was left as it was: see `leave`

// CUPTI may call this until the process ends. It uses nothing but its own code, which stays loaded
// (csrc/CMakeLists.txt: nodelete).
uint64_t our_clock() {
  return static_cast<uint64_t>(monotonic_ns());
}

uint64_t default_clock() {
  return static_cast<uint64_t>(read_clock_ns(CLOCK_REALTIME));
}

// No callback is enabled. The subscription keeps other clients away.
void on_callback(void* /*data*/, uint32_t /*domain*/, uint32_t /*call*/, const void* /*what*/) {}

void on_request(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *buffer = cupti_buffers().request();
  *bytes = *buffer == nullptr ? 0 : CuptiBuffers::kBytes;
  *most_records = 0;  // as many as fit
}

void on_complete(void* /*context*/, uint32_t /*stream*/, uint8_t* buffer, size_t /*bytes*/,
                 size_t valid_bytes) {
  cupti_buffers().complete(buffer, valid_bytes);
}

template <size_t Count>
bool begins_with_one(std::string_view name, const std::array<std::string_view, Count>& beginnings) {
  return std::ranges::any_of(beginnings, [&](auto begin) { return name.starts_with(begin); });
}

// Calls `set(number)` for each call of the domain whose name begins with one of `beginnings`.
template <size_t Count, class Set>
void for_calls(const CuptiApi& api, uint32_t domain,
               const std::array<std::string_view, Count>& beginnings, Set set) {
  for (uint32_t call = 1; call < kCalls; ++call) {
    const char* name = nullptr;
    if (api.callback_name(domain, call, &name) == 0 && name != nullptr &&
        begins_with_one(name, beginnings))
      set(call);
  }
}

}  // namespace

CuptiBuffers& cupti_buffers() {
  static auto& buffers = *new CuptiBuffers;
  return buffers;
}

std::optional<CuptiFault> CuptiSession::open(bool with_ids) {
  if (const Code code = api_.get_version(&version_); code != 0)
    return explain(code, "cuptiGetVersion");
  cupti_buffers().limit(kRefusalFault.is_in(version_) ? CuptiBuffers::kMost : kMostBuffers);
  cupti_buffers().keep_spares();
  strides_ = probe_strides(api_.next_record);
  std::optional<CuptiFault> fault = subscribe();
  if (fault)
    return fault;
  fault = prepare();
  if (!fault)
    fault = enable_kinds(with_ids);
  if (fault) {
    flush_and_disable();
    close();
    return fault;
  }
  find_calls();
  choose_calls();
  if (api_.enable_driver_call == nullptr)
    missing_.emplace_back("calls of the CUDA driver, as Triton makes them: this CUPTI is too old");
  if (kWaitFault.is_in(version_))
    missing_.emplace_back("waits for the whole GPU (cudaDeviceSynchronize): a fault of this CUPTI");
  if (!may_fetch())
    missing_.emplace_back("work of GPUs, if the program is killed: a fault of this CUPTI");
  number_ = ++sessions;
  return std::nullopt;
}

// Does not use cuptiSubscribe_v2: with such a subscriber CUPTI may refuse calls that name no
// subscriber, and the calls here name none.
std::optional<CuptiFault> CuptiSession::subscribe() {
  const Code code = api_.subscribe(&subscriber_, on_callback, nullptr);
  if (code == 0)
    return std::nullopt;
  if (is_left)
    return CuptiFault{
        "an earlier recording of this process left CUPTI behind work that did not end",
        "record in a new process"};
  return explain(code, "cuptiSubscribe", code == kOtherClient ? other_client() : "");
}

// Returns the name of the other client; "" if not known. Only cuptiSubscribe_v2 tells it.
std::string CuptiSession::other_client() {
  if (api_.subscribe_v2 == nullptr)
    return "";
  std::array<char, kOtherNameBytes> other{};
  CuptiSubscriberParams params{sizeof params, "perfprobe", other.data(), other.size() - 1};
  CuptiApi::Subscriber subscriber = nullptr;
  const Code code = api_.subscribe_v2(&subscriber, on_callback, nullptr, &params);
  if (code == 0)  // the other client has ended, or shares
    static_cast<void>(api_.unsubscribe(subscriber));
  return code == kOtherClient ? other.data() : "";
}

// The clock must be set before any kind is enabled.
std::optional<CuptiFault> CuptiSession::prepare() {
  const bool has_threads =
      api_.set_thread_id_type != nullptr && api_.set_thread_id_type(kSystemThreadIds) == 0;
  if (!has_threads)
    missing_.emplace_back("the threads of calls (cuptiSetThreadIdType)");
  give_clock();
  promise_zeroed_buffers(1);  // CUPTI need not clear them inside a launch
  const Code code = api_.register_callbacks(on_request, on_complete);
  return code == 0 ? std::nullopt : std::optional(explain(code, "cuptiActivityRegisterCallbacks"));
}

// Always sets the clock, because that of an earlier client may still be set. Not a second time,
// though, if that spoils times and ours is still set. If it is refused, times in CUPTI's own clock
// are converted, as all that are not in ours.
void CuptiSession::give_clock() {
  const bool is_there = given_clock.to == api_.register_timestamp;
  if (is_there && (!given_clock.is_told || has_our_clock()))
    return;
  if (const Code code = api_.register_timestamp(our_clock); code != 0)
    clock_refusal_ = explain(code, "cuptiActivityRegisterTimestampCallback").reason;
  else
    given_clock = {api_.register_timestamp, has_our_clock()};
}

// It is not known whether versions before the known ones have the fault.
void CuptiSession::take_clock_back() {
  if (version_ < kClockFault.fixed || !clock_refusal_.empty())
    return;
  static_cast<void>(api_.register_timestamp(default_clock));
  given_clock = {};
}

bool CuptiSession::has_our_clock() const {
  uint64_t now = 0;
  const uint64_t before = our_clock();
  return api_.get_timestamp != nullptr && api_.get_timestamp(&now) == 0 && now >= before &&
         now <= our_clock();
}

void CuptiSession::promise_zeroed_buffers(uint8_t promised) {
  size_t bytes = sizeof promised;
  static_cast<void>(api_.set_attribute(kZeroedBuffers, &bytes, &promised));
}

std::optional<CuptiFault> CuptiSession::enable_kinds(bool with_ids) {
  for (const Kind& kind : kKinds) {
    const Code code = api_.enable(kind.number);
    if (code == 0) {
      enabled_.push_back(kind.number);
      continue;
    }
    const CuptiFault fault = explain(code, "cuptiActivityEnable " + std::to_string(kind.number));
    if (kind.is_needed)
      return fault;
    missing_.push_back(std::string(kind.what) + ": " + fault.reason);
  }
  if (!with_ids)
    return std::nullopt;
  if (const Code code = api_.enable(cupti::kExternalCorrelation); code != 0)
    missing_.push_back("exact links: " + explain(code, "cuptiActivityEnable").reason);
  else
    enabled_.push_back(cupti::kExternalCorrelation);
  return std::nullopt;
}

void CuptiSession::find_calls() {
  if (api_.enable_runtime_call != nullptr)
    for_calls(api_, cupti::kRuntimeDomain, kLeftOut,
              [&](uint32_t call) { left_out_.push_back(call); });
  if (api_.enable_driver_call != nullptr)
    for_calls(api_, cupti::kDriverDomain, kDriverCalls,
              [&](uint32_t call) { driver_calls_.push_back(call); });
}

// Called after the kinds are enabled, because enabling a kind enables all of its calls.
void CuptiSession::choose_calls() {
  for (const uint32_t call : left_out_)
    static_cast<void>(api_.enable_runtime_call(call, 0));
  enable_driver_calls(1);
}

void CuptiSession::enable_driver_calls(uint8_t enabled) {
  for (const uint32_t call : driver_calls_)
    static_cast<void>(api_.enable_driver_call(call, enabled));
}

// Not flushed: records of work that still runs come with a later flush.
void CuptiSession::pause() {
  for (const uint32_t kind : enabled_) {
    if (kind != cupti::kConcurrentKernel || may_fetch())
      static_cast<void>(api_.disable(kind));
  }
  enable_driver_calls(0);
  is_paused_ = true;
}

bool CuptiSession::resume() {
  bool is_all = true;
  for (const uint32_t kind : enabled_)
    is_all = api_.enable(kind) == 0 && is_all;
  choose_calls();
  is_paused_ = false;
  return is_all;
}

void CuptiSession::pause_calls() {
  for (const uint32_t kind : {cupti::kRuntime, cupti::kSynchronization})
    static_cast<void>(api_.disable(kind));
  enable_driver_calls(0);
}

void CuptiSession::resume_calls() {
  static_cast<void>(api_.enable(cupti::kRuntime));
  choose_calls();
}

void CuptiSession::record_whole_graphs() {
  if (const Code code = api_.enable(cupti::kGraphTrace); code == 0)
    enabled_.push_back(cupti::kGraphTrace);
  else
    missing_.push_back("CUDA graphs as a whole: " + explain(code, "cuptiActivityEnable").reason);
}

void CuptiSession::flush() {
  static_cast<void>(api_.flush_all(0));
}

void CuptiSession::push_canary() {
  if (std::ranges::find(enabled_, cupti::kExternalCorrelation) == enabled_.end() &&
      api_.enable(cupti::kExternalCorrelation) == 0)
    enabled_.push_back(cupti::kExternalCorrelation);
  static_cast<void>(api_.push_external_id(kCanaryKind, kCanary));
}

void CuptiSession::pop_canary() {
  uint64_t last = 0;
  static_cast<void>(api_.pop_external_id(kCanaryKind, &last));
}

// A forced flush delivers records of work that still runs, and so ends them. Therefore it is the
// last step.
void CuptiSession::flush_and_disable() {
  flush();
  for (const uint32_t kind : enabled_)
    static_cast<void>(api_.disable(kind));
  enable_driver_calls(0);
  enabled_.clear();
  static_cast<void>(api_.flush_all(kForced));
}

bool CuptiSession::has_canary(uint8_t* buffer, size_t valid_bytes) const {
  CuptiWalk walk(api_.next_record, strides_, buffer, valid_bytes);
  while (walk.step() == CuptiWalk::State::at_record) {
    if (walk.kind() == cupti::kExternalCorrelation &&
        walk.record().get(cupti::external::external_kind) == kCanaryKind &&
        walk.record().get(cupti::external::id) == kCanary)
      return true;
  }
  return false;
}

void CuptiSession::leave() {
  flush();
  is_left = true;
}

void CuptiSession::close() {
  size_t dropped = 0;
  if (api_.get_dropped(nullptr, 0, &dropped) == 0)
    dropped_records_ += static_cast<int64_t>(dropped);
  promise_zeroed_buffers(0);  // the next client's buffers are not zeroed
  take_clock_back();
  if (api_.set_thread_id_type != nullptr)
    static_cast<void>(api_.set_thread_id_type(kDefaultThreadIds));
  static_cast<void>(api_.unsubscribe(subscriber_));
  subscriber_ = nullptr;
}

}  // namespace perfprobe
