#include "gpu/kernel_names.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include <cxxabi.h>

namespace perfprobe {
namespace {

Hash128 hash_of(std::string_view text) {
  Hasher hasher;
  for (size_t at = 0; at < text.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min(sizeof(word), text.size() - at));
    hasher.add(word, text.size());
  }
  return hasher.result();
}

}  // namespace

int32_t KernelNames::find(const char* address) {
  if (address == nullptr)
    return kNone;
  if (known_.size() >= kMost && !known_.contains(address))
    known_.clear();
  Known& known = known_[address];
  if (known.buffer != buffer_)
    read(address, known);
  return known.id;
}

void KernelNames::read(const char* address, Known& known) {
  known.buffer = buffer_;
  if (!memory_.read_text(address, kMostBytes, text_)) {
    known.id = kNone;
    return;
  }
  const Hash128 hash = hash_of(text_);
  if (known.id != kNone && known.text == hash)
    return;
  known.text = hash;
  known.id = ids_.find(hash);
  if (known.id != InternTable::kAbsent)
    return;
  known.id = kNone;  // in case there is no memory for it
  known.id = intern();
  if (known.id != other_)
    ids_.insert(hash, known.id);
}

int32_t KernelNames::intern() {
  const auto add = [this](std::string_view text) {
    return recorder_.define([&](Definitions& definitions) { return definitions.intern(text).id; });
  };
  if (ids_.size() >= kMost || bytes_of_all_ >= kMostBytesOfAll)
    return other_ = add("(other)");
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      text_.starts_with("_Z") ? abi::__cxa_demangle(text_.c_str(), nullptr, nullptr, &status)
                              : nullptr,
      &std::free);
  // Substitutions in a mangled name of a few bytes can produce a name of any length.
  const bool is_usable = demangled != nullptr && std::strlen(demangled.get()) <= kMostBytes;
  const std::string_view name = is_usable ? demangled.get() : std::string_view(text_);
  bytes_of_all_ += name.size();
  return add(name);
}

}  // namespace perfprobe
