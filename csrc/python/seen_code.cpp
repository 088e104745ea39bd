#include "python/seen_code.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <string_view>

#include "core/address_range.h"
#include "python/code_locations.h"
#include "python/frames.h"

#ifdef PERFPROBE_FOREIGN_FRAMES

namespace perfprobe {
namespace {

constexpr size_t kMostTextBytes = 65'536;
constexpr size_t kMostTableBytes = size_t{4} << 20;

template <class Head>
const PyCodeObject& as_code(const Head& head) {
  return *reinterpret_cast<const PyCodeObject*>(head.data());
}

// Clears the fields that change during the object's life. Returns false if it is not a living code
// object.
template <class Head>
bool settle(Head& head) {
  auto& code = *reinterpret_cast<PyCodeObject*>(head.data());
  auto* object = reinterpret_cast<PyObject*>(head.data());
  // A freed object has a pointer here, or 0.
#if PY_VERSION_HEX >= 0x030E0000
  const bool lives = object->ob_refcnt > 0 && object->ob_overflow == 0;
#else
  const bool lives = Py_REFCNT(object) > 0 && Py_REFCNT(object) <= Py_ssize_t{UINT_MAX};
#endif
  std::memset(static_cast<void*>(object), 0, offsetof(PyObject, ob_type));
#if PY_VERSION_HEX < 0x030C0000
  code.co_warmup = 0;
  code._co_linearray_entry_size = 0;
#else
  static_cast<void>(code);
#endif
  return lives && object->ob_type == &PyCode_Type;
}

// The number of bytes that _PyFrame_PushUnchecked takes from the frame stack.
int32_t frame_bytes_of(const PyCodeObject& code) {
#if PY_VERSION_HEX >= 0x030C0000
  const int64_t words = code.co_framesize;
#else
  const int64_t words =
      int64_t{code.co_nlocalsplus} + code.co_stacksize + static_cast<int64_t>(FRAME_SPECIALS_SIZE);
#endif
  return static_cast<int32_t>(words * static_cast<int64_t>(sizeof(PyObject*)));
}

// From 3.12 on every code object has a unique number.
constexpr bool kHeadsDiffer = PY_VERSION_HEX >= 0x030C0000;

bool append_utf8(uint32_t letter, std::pmr::string& text) {
  const auto add = [&text](uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  const auto add_tail = [&](int shift) { add(0x80 | (letter >> shift & 0x3F)); };
  if ((letter >= 0xD800 && letter < 0xE000) || letter > 0x10FFFF)
    return false;  // half of a pair: a file name that is not UTF-8
  if (letter < 0x80) {
    add(letter);
  } else if (letter < 0x800) {
    add(0xC0 | letter >> 6);
    add_tail(0);
  } else if (letter < 0x10000) {
    add(0xE0 | letter >> 12);
    add_tail(6);
    add_tail(0);
  } else {
    add(0xF0 | letter >> 18);
    add_tail(12);
    add_tail(6);
    add_tail(0);
  }
  return true;
}

template <class Letter>
bool append_letters(const std::vector<std::byte>& data, std::pmr::string& text) {
  for (size_t i = 0; i + sizeof(Letter) <= data.size(); i += sizeof(Letter)) {
    Letter letter;
    std::memcpy(&letter, &data[i], sizeof(letter));
    if (!append_utf8(letter, text))
      return false;
  }
  return true;
}

// A copy of a str: first of the object, then of its letters.
class CopiedText {
 public:
  explicit CopiedText(const PyObject* text) : text_(text) {}

  MemoryPiece object() { return {text_, &object_, sizeof(object_)}; }
  [[nodiscard]] bool is_sane() const {
    const unsigned kind = object_.state.kind;
    return reinterpret_cast<const PyObject*>(&object_)->ob_type == &PyUnicode_Type &&
           object_.state.compact && object_.length >= 0 &&
           static_cast<size_t>(object_.length) <= kMostTextBytes &&
           (kind == 1 || kind == 2 || kind == 4);
  }
  MemoryPiece letters() {
    letters_.resize(static_cast<size_t>(object_.length) * object_.state.kind);
    const size_t place =
        object_.state.ascii ? sizeof(PyASCIIObject) : sizeof(PyCompactUnicodeObject);
    return {part_of(text_, place), letters_.data(), letters_.size()};
  }
  // As UTF-8, the same text that PyUnicode_AsUTF8 returns.
  void write(std::pmr::string& into) const {
    if (!append_text(into))
      into = "(unprintable)";
  }

 private:
  bool append_text(std::pmr::string& into) const {
    switch (object_.state.kind) {
      case PyUnicode_1BYTE_KIND:
        return append_letters<uint8_t>(letters_, into);
      case PyUnicode_2BYTE_KIND:
        return append_letters<uint16_t>(letters_, into);
      default:
        return append_letters<uint32_t>(letters_, into);
    }
  }

  const PyObject* text_;
  PyASCIIObject object_;
  std::vector<std::byte> letters_;
};

bool is_sane_table(const PyVarObject& table) {
  return table.ob_base.ob_type == &PyBytes_Type && table.ob_size >= 0 &&
         static_cast<size_t>(table.ob_size) <= kMostTableBytes;
}

}  // namespace

int32_t SeenCode::Entry::line_of(int32_t instruction) const {
  const int32_t line =
      instruction < 0 ? -1 : line_of_instruction(locations, first_line, instruction);
  return line < 0 ? first_line : line;  // the compiler gave this instruction no line
}

bool SeenCode::Entry::asks_next(int32_t instruction) const {
  return std::ranges::binary_search(next_instructions, instruction);
}

bool SeenCode::Entry::is_fleeting() const {
  return file.starts_with('<') && !file.starts_with("<frozen");
}

bool SeenCode::check(std::span<const ForeignFrame> frames, bool with_gaps) {
  if (entries_.size() > kMost)
    entries_.clear();
  ++checks_;
  unchecked_.clear();
  for (const ForeignFrame& frame : frames) {
    if (address_of(frame.code) % alignof(PyCodeObject) != 0)
      return false;
    Entry& entry = entries_.try_emplace(frame.code, pool_.resource()).first->second;
    if (entry.checked == checks_)
      continue;
    entry.checked = checks_;
    unchecked_.emplace_back(frame.code, &entry);
  }
  return check_heads() && std::ranges::all_of(frames, [&](const ForeignFrame& frame) {
           constexpr int32_t kBeforeFirst =
               -2;  // one code unit before the start: the frame has not started
           const Entry& entry = entries_.at(frame.code);
           return frame.instruction >= kBeforeFirst && frame.instruction < entry.bytes &&
                  (frame.room_bytes == 0 || with_gaps || frame.room_bytes == entry.frame_bytes);
         });
}

bool SeenCode::check_heads() {
  heads_.resize(unchecked_.size());
  pieces_.clear();
  for (size_t i = 0; i < unchecked_.size(); ++i)
    pieces_.push_back({unchecked_[i].first, heads_[i].data(), heads_[i].size()});
  if (!memory_.read(pieces_))
    return false;
  for (size_t i = 0; i < unchecked_.size(); ++i) {
    const auto& [code, entry] = unchecked_[i];
    if (!settle(heads_[i]))
      return false;
    if (entry->is_known && entry->head == heads_[i] && (kHeadsDiffer || !entry->is_fleeting()))
      continue;
    entry->head = heads_[i];
    entry->is_known = learn(code, *entry);
    if (!entry->is_known)
      return false;
  }
  return true;
}

// The object was alive all the time only if it is unchanged after its texts were read. System calls
// are most of the cost, and a program that imports shows new objects at every look: there are only
// two of them.
bool SeenCode::learn(const void* code, Entry& entry) {
  Entry fresh(pool_.resource());
  const PyCodeObject& copy = as_code(entry.head);
  fresh.first_line = copy.co_firstlineno;
  fresh.frame_bytes = frame_bytes_of(copy);
  const Py_ssize_t units = reinterpret_cast<const PyVarObject*>(&copy)->ob_size;
  fresh.bytes = static_cast<int32_t>(std::clamp(units, Py_ssize_t{0}, Py_ssize_t{INT_MAX / 2}) * 2);
  CopiedText file(copy.co_filename);
  CopiedText function(copy.co_qualname);
  PyVarObject table;
  const std::array objects{file.object(), function.object(),
                           MemoryPiece{copy.co_linetable, &table, sizeof(table)}};
  if (!memory_.read(objects) || !file.is_sane() || !function.is_sane() || !is_sane_table(table))
    return false;
  fresh.locations.resize(static_cast<size_t>(table.ob_size));
  bytecode_.resize(std::min(static_cast<size_t>(fresh.bytes), kMostTableBytes));
  Head again;
  const std::array contents{
      file.letters(), function.letters(),
      MemoryPiece{part_of(copy.co_linetable, offsetof(PyBytesObject, ob_sval)),
                  fresh.locations.data(), fresh.locations.size()},
      MemoryPiece{part_of(code, offsetof(PyCodeObject, co_code_adaptive)), bytecode_.data(),
                  bytecode_.size()},
      MemoryPiece{code, again.data(), again.size()}};
  if (!memory_.read(contents) || !settle(again) || again != entry.head)
    return false;
  file.write(fresh.file);
  function.write(fresh.function);
  fresh.next_instructions = next_instructions(bytecode_, pool_.resource());
  entry.take(std::move(fresh));
  return true;
}

// What was named before stays if nothing differs.
void SeenCode::Entry::take(Entry&& fresh) {
  frame_bytes = fresh.frame_bytes;
  const bool is_same = is_known && file == fresh.file && function == fresh.function &&
                       locations == fresh.locations && first_line == fresh.first_line &&
                       bytes == fresh.bytes;
  if (is_same)
    return;
  named_frame = kNone;
  first_line = fresh.first_line;
  bytes = fresh.bytes;
  file = std::move(fresh.file);
  function = std::move(fresh.function);
  locations = std::move(fresh.locations);
  next_instructions = std::move(fresh.next_instructions);
}

}  // namespace perfprobe

#endif
