// The definition tables of a recording: strings, frames, stacks, modules, signatures, threads.
//
// Each row is interned once, on first sight, and is written before any row that refers to it: the
// writer reads how many events are published, then takes the new definitions (`take_new`), and
// writes these first.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/hash.h"
#include "core/mapped_memory.h"
#include "core/recorder_port.h"
#include "core/row_column.h"

namespace perfprobe {

struct StringRow {
  std::string_view text;  // points into the texts of `Definitions`, which never move

  static constexpr std::string_view kTable = "strings";
  static constexpr auto columns() { return std::array{text_column<&StringRow::text>("text")}; }
};

struct FrameKey {
  int32_t file, function, first_line, line;

  auto operator<=>(const FrameKey&) const = default;
};

struct FrameRow {
  int32_t file, function, first_line, line;
  int64_t text_hash = kNone;  // set by the writer: see SourceLines

  static constexpr std::string_view kTable = "frames";
  static constexpr auto columns() {
    return std::array{column<&FrameRow::file>("file"), column<&FrameRow::function>("function"),
                      column<&FrameRow::first_line>("first_line"), column<&FrameRow::line>("line"),
                      column<&FrameRow::text_hash>("text_hash")};
  }
};

struct StackKey {
  int32_t parent = kNone, frame = kNone, module = kNone;
  int32_t asks_next = kNone;  // 1 if known

  static constexpr std::string_view kTable = "stacks";
  static constexpr auto columns() {
    return std::array{column<&StackKey::parent>("parent"), column<&StackKey::frame>("frame"),
                      column<&StackKey::module>("module"),
                      column<&StackKey::asks_next>("asks_next")};
  }
  auto operator<=>(const StackKey&) const = default;
};

struct ModuleRow {
  int32_t parent, name, type;

  static constexpr std::string_view kTable = "modules";
  static constexpr auto columns() {
    return std::array{column<&ModuleRow::parent>("parent"), column<&ModuleRow::name>("name"),
                      column<&ModuleRow::type>("type")};
  }
  auto operator<=>(const ModuleRow&) const = default;
};

struct SignatureRow {
  int32_t text, example, values;
  int64_t grad_mask;
  int32_t name, overload;

  static constexpr std::string_view kTable = "signatures";
  static constexpr auto columns() {
    return std::array{
        column<&SignatureRow::text>("text"),     column<&SignatureRow::example>("example"),
        column<&SignatureRow::values>("values"), column<&SignatureRow::grad_mask>("grad_mask"),
        column<&SignatureRow::name>("name"),     column<&SignatureRow::overload>("overload")};
  }
};

// Values of the tensors of a signature, read at a later call.
struct SignatureValues {
  int32_t signature, values;

  static constexpr std::string_view kTable = "signature_values";
  static constexpr auto columns() {
    return std::array{column<&SignatureValues::signature>("signature"),
                      column<&SignatureValues::values>("values")};
  }
};

struct ThreadRow {
  int64_t os_thread, forward_id;
  int32_t name;

  static constexpr std::string_view kTable = "threads";
  static constexpr auto columns() {
    return std::array{column<&ThreadRow::os_thread>("os_thread"),
                      column<&ThreadRow::forward_id>("forward_id"),
                      column<&ThreadRow::name>("name")};
  }
};

struct NewDefinitions {
  MappedVector<StringRow> strings;
  MappedVector<FrameRow> frames;
  MappedVector<StackKey> stacks;
  MappedVector<ModuleRow> modules;
  MappedVector<SignatureRow> signatures;
  MappedVector<SignatureValues> signature_values;
  MappedVector<ThreadRow> threads;
  [[nodiscard]] bool empty() const;
};

struct Hash128Low {
  size_t operator()(const Hash128& hash) const { return hash.low; }
};

// Not thread-safe: the owner locks.
class Definitions {
 public:
  // Beyond this many signatures, stacks or names, all others share the row "(other)".
  static constexpr size_t kLimit = 65'536;
  // Deep stacks that differ in their outer calls have thousands of rows each, so these are limited
  // too.
  static constexpr size_t kStackRows = 524'288;
  // Signatures with lists of hundreds of tensors have many kilobytes, so their bytes are limited
  // too.
  static constexpr size_t kSignatureBytes = size_t{16} << 20;
  // Values of tensors are kept up to this size; those of later signatures are not recorded.
  static constexpr size_t kValueBytes = size_t{8} << 20;
  static constexpr size_t kRootsOfAType = 64;

  InternedText intern(std::string_view text);
  // The same for an operator's name. `finite`: an operator in torch's registry; its name is always
  // kept, however many names a program's ranges have.
  InternedText intern_name(std::string_view name, bool finite);
  int32_t add_frame(const FrameKey& frame);
  int32_t add_stack(const StackKey& stack);
  [[nodiscard]] bool has_stack(const StackKey& stack) const { return stack_rows_.contains(stack); }
  // Returns the row for this place in a module tree.
  int32_t add_module(const ModuleRow& module);
  // Adds a row for a tree's root. After `kRootsOfAType` roots of one type (such as a loss module
  // made in every step), all others share the first one's row.
  int32_t add_root_module(int32_t type);
  int32_t add_thread(const ThreadRow& thread);

  // Returns the id of a whole stack; `kAbsent` on first sight, that of "(other)" beyond the limits.
  [[nodiscard]] int32_t find_stack(Hash128 hash);
  void remember_stack(Hash128 hash, int32_t id) { stack_ids_.emplace(hash, id); }
  // A stack that was recorded without its outermost frames.
  void count_cut_stack() { ++cut_stacks_; }

  int32_t add_signature(Hash128 hash, const SignatureText& signature);
  // Ignored for "(other)", and once half of `kValueBytes` is used: the rest is for first reads.
  void add_values(int32_t signature, const char* values);
  [[nodiscard]] int64_t other_signatures() const { return other_signatures_; }
  [[nodiscard]] int64_t other_stacks() const { return other_stacks_; }
  [[nodiscard]] int64_t cut_stacks() const { return cut_stacks_; }
  [[nodiscard]] int64_t other_names() const { return other_names_; }

  // The text of a string's row, valid until the recording has ended.
  [[nodiscard]] std::string_view text(int32_t id) const { return texts_[static_cast<size_t>(id)]; }
  // The number of rows of frames and stacks so far.
  [[nodiscard]] size_t python_rows() const { return frame_ids_.size() + stack_rows_.size(); }

  NewDefinitions take_new();
  // Puts definitions back that the disk refused: they must be written before newer ones.
  void put_back(NewDefinitions&& refused);

 private:
  using Ids = std::pmr::unordered_map<Hash128, int32_t, Hash128Low>;
  static int32_t find(const Ids& ids, Hash128 hash);
  int32_t intern_values(const char* values);

  // All of it is on mapped pages: definitions are kept for ever and would fragment the heap between
  // the program's tensors.
  MappedPool pool_;
  std::pmr::deque<std::pmr::string> texts_{pool_.resource()};  // a deque never moves its strings
  std::pmr::unordered_map<std::string_view, int32_t> text_ids_{pool_.resource()};
  std::pmr::map<FrameKey, int32_t> frame_ids_{pool_.resource()};
  std::pmr::map<StackKey, int32_t> stack_rows_{pool_.resource()};
  Ids stack_ids_{pool_.resource()};
  Ids signature_ids_{pool_.resource()};
  std::pmr::map<ModuleRow, int32_t> module_rows_{pool_.resource()};
  std::pmr::map<int32_t, size_t> roots_of_type_{pool_.resource()};
  int32_t modules_ = 0;
  int32_t threads_ = 0;
  int32_t signatures_ = 0;
  int32_t other_signature_id_ = kNone;
  int64_t other_signatures_ = 0;
  int64_t other_stacks_ = 0;
  int64_t cut_stacks_ = 0;
  int64_t other_names_ = 0;
  size_t names_ = 0;
  size_t signature_bytes_ = 0;
  size_t value_bytes_ = 0;
  NewDefinitions new_;
};

}  // namespace perfprobe
