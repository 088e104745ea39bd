#include "gpu/api_names.h"

#include <string>
#include <string_view>

#include "core/thread_name.h"
#include "gpu/cupti_records.h"

namespace perfprobe {
namespace {

// cudaLaunchKernel_v7000: the suffix is the CUDA version that introduced this form. cuMemcpyHtoD_v2
// is a name of its own. __cudaLaunchKernel: the same call compiled from <<<>>>.
std::string_view plain(std::string_view name) {
  if (name.starts_with("__"))
    name.remove_prefix(2);
  constexpr size_t kFewestDigits = 4;
  const size_t letters = name.find_last_not_of("0123456789");
  const bool is_versioned = letters != std::string_view::npos && name.size() > letters &&
                            name.size() - letters - 1 >= kFewestDigits &&
                            name.substr(0, letters + 1).ends_with("_v");
  return is_versioned ? name.substr(0, letters - 1) : name;
}

}  // namespace

int32_t ApiNames::find(uint32_t domain, uint32_t callback) {
  const uint64_t key = uint64_t{domain} << 32 | callback;
  const auto known = ids_.find(key);
  if (known != ids_.end())
    return known->second;
  const bool is_full = ids_.size() >= kMost;
  const std::string name = is_full ? "(other calls)" : read(domain, callback);
  const int32_t id =
      recorder_.define([&](Definitions& definitions) { return definitions.intern(name).id; });
  if (is_full)
    return other_ = id;
  return ids_.emplace(key, id).first->second;
}

std::string ApiNames::read(uint32_t domain, uint32_t callback) {
  constexpr size_t kMostBytes = 256;
  const char* address = nullptr;
  std::string text;
  if (name_(domain, callback, &address) == cupti::kSuccess && address != nullptr &&
      memory_.read_text(address, kMostBytes, text))
    return std::string(plain(text));
  const char* library = domain == cupti::kRuntimeDomain ? "runtime" : "driver";
  return std::string("(") + library + " call " + std::to_string(callback) + ")";
}

int32_t ApiThreads::find(int64_t os_thread) {
  const auto known = rows_.find(os_thread);
  if (known != rows_.end())
    return known->second;
  const int32_t row = thread_rows_.add(os_thread, [&] { return thread_name(os_thread); });
  return row == other() ? row : rows_.emplace(os_thread, row).first->second;
}

}  // namespace perfprobe
