#include "core/definitions.h"

#include <cstring>
#include <iterator>
#include <utility>

#include "core/intern_table.h"

namespace perfprobe {
namespace {

// Appends the rows of `later` to `earlier`.
template <class Row>
void append(MappedVector<Row>& earlier, const MappedVector<Row>& later) {
  earlier.insert(earlier.end(), later.begin(), later.end());
}

// Returns the id of `key` and whether it is new. Ids are given in order.
template <class Key>
std::pair<int32_t, bool> number(std::pmr::map<Key, int32_t>& ids, const Key& key) {
  const auto [place, is_new] = ids.emplace(key, static_cast<int32_t>(ids.size()));
  return {place->second, is_new};
}

}  // namespace

bool NewDefinitions::empty() const {
  return strings.empty() && frames.empty() && stacks.empty() && modules.empty() &&
         signatures.empty() && signature_values.empty() && threads.empty();
}

InternedText Definitions::intern(std::string_view text) {
  const auto known = text_ids_.find(text);
  if (known != text_ids_.end())
    return {known->second, known->first.data()};
  const auto id = static_cast<int32_t>(texts_.size());
  const std::pmr::string& kept = texts_.emplace_back(text);
  text_ids_.emplace(kept, id);
  new_.strings.push_back({kept});
  return {id, kept.c_str()};
}

InternedText Definitions::intern_name(std::string_view name, bool finite) {
  if (!finite && !text_ids_.contains(name) && ++names_ > kLimit) {
    ++other_names_;
    return intern("(other)");
  }
  return intern(name);
}

int32_t Definitions::add_frame(const FrameKey& frame) {
  const auto [id, is_new] = number(frame_ids_, frame);
  if (is_new)
    new_.frames.push_back({frame.file, frame.function, frame.first_line, frame.line});
  return id;
}

int32_t Definitions::add_stack(const StackKey& stack) {
  const auto [id, is_new] = number(stack_rows_, stack);
  if (is_new)
    new_.stacks.push_back(stack);
  return id;
}

int32_t Definitions::add_module(const ModuleRow& module) {
  const auto [place, is_new] = module_rows_.emplace(module, modules_);
  if (is_new) {
    new_.modules.push_back(module);
    ++modules_;
  }
  return place->second;
}

int32_t Definitions::add_root_module(int32_t type) {
  const ModuleRow root{kNone, intern("").id, type};
  if (++roots_of_type_[type] > kRootsOfAType)
    return module_rows_.at(root);
  module_rows_.emplace(root, modules_);  // keeps the first one
  new_.modules.push_back(root);
  return modules_++;
}

int32_t Definitions::add_thread(const ThreadRow& thread) {
  new_.threads.push_back(thread);
  return threads_++;
}

int32_t Definitions::find(const Ids& ids, Hash128 hash) {
  const auto known = ids.find(hash);
  return known == ids.end() ? InternTable::kAbsent : known->second;
}

int32_t Definitions::find_stack(Hash128 hash) {
  const int32_t known = find(stack_ids_, hash);
  const bool is_full = stack_ids_.size() >= kLimit || stack_rows_.size() >= kStackRows;
  if (known != InternTable::kAbsent || !is_full)
    return known;
  ++other_stacks_;
  return add_stack(StackKey{});
}

int32_t Definitions::add_signature(Hash128 hash, const SignatureText& signature) {
  const int32_t known = find(signature_ids_, hash);
  if (known != InternTable::kAbsent)
    return known;
  const bool full = signature_ids_.size() >= kLimit || signature_bytes_ >= kSignatureBytes;
  if (full)
    ++other_signatures_;
  if (full && other_signature_id_ != kNone)
    return other_signature_id_;
  const int32_t id = signatures_++;
  if (full) {
    other_signature_id_ = id;
    new_.signatures.push_back({intern("(other)").id, kNone, kNone, 0, kNone, kNone});
    return id;
  }
  signature_bytes_ += std::strlen(signature.text);
  if (signature.example != nullptr)
    signature_bytes_ += std::strlen(signature.example);
  const int32_t example = signature.example == nullptr ? kNone : intern(signature.example).id;
  new_.signatures.push_back({intern(signature.text).id, example, intern_values(signature.values),
                             static_cast<int64_t>(signature.grad_mask), signature.name,
                             signature.overload});
  signature_ids_.emplace(hash, id);
  return id;
}

void Definitions::add_values(int32_t signature, const char* values) {
  if (signature != other_signature_id_ && value_bytes_ < kValueBytes / 2)
    new_.signature_values.push_back({signature, intern_values(values)});
}

int32_t Definitions::intern_values(const char* values) {
  if (values == nullptr || value_bytes_ >= kValueBytes)
    return kNone;
  value_bytes_ += std::strlen(values);
  return intern(values).id;
}

NewDefinitions Definitions::take_new() {
  return std::exchange(new_, {});
}

void Definitions::put_back(NewDefinitions&& refused) {
  append(refused.strings, new_.strings);
  append(refused.frames, new_.frames);
  append(refused.stacks, new_.stacks);
  append(refused.modules, new_.modules);
  append(refused.signatures, new_.signatures);
  append(refused.signature_values, new_.signature_values);
  append(refused.threads, new_.threads);
  new_ = std::move(refused);
}

}  // namespace perfprobe
