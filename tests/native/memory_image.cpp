#include "memory_image.h"

#include <algorithm>
#include <array>

#ifdef PERFPROBE_FOREIGN_FRAMES

// The only functions of Python's library that are used. The library itself is not linked.
extern "C" {
PyTypeObject PyCode_Type{};
PyTypeObject PyUnicode_Type{};
PyTypeObject PyBytes_Type{};
PyObject _Py_NoneStruct{};

static PyThreadState* newest = nullptr;

PyInterpreterState* PyInterpreterState_Main() {
  return reinterpret_cast<PyInterpreterState*>(0x5000);
}
PyThreadState* PyInterpreterState_ThreadHead(PyInterpreterState* /*interpreter*/) {
  return newest;
}
}

namespace perfprobe::test {
namespace {

constexpr size_t kChunks = 4;
constexpr size_t kChunkBytes = size_t{16} << 10;
constexpr size_t kStackBytes = size_t{8} << 10;
constexpr size_t kObjectBytes = size_t{8} << 10;
enum Part : size_t { kObjects, kStates, kStack, kFirstChunk, kParts = kFirstChunk + kChunks };

template <class T>
T* pointer(uintptr_t address) {
  return reinterpret_cast<T*>(address);
}

template <class T>
T empty() {
  T value;
  std::memset(static_cast<void*>(&value), 0, sizeof(value));
  return value;
}

// Of a frame without locals.
constexpr size_t kFrameWords = offsetof(_PyInterpreterFrame, localsplus) / sizeof(PyObject*);

#if PY_VERSION_HEX >= 0x030D0000
constexpr size_t kInstruction = offsetof(_PyInterpreterFrame, instr_ptr);
constexpr size_t kCode = offsetof(_PyInterpreterFrame, f_executable);
#else
constexpr size_t kInstruction = offsetof(_PyInterpreterFrame, prev_instr);
constexpr size_t kCode = offsetof(_PyInterpreterFrame, f_code);
#endif

#if PY_VERSION_HEX >= 0x030C0000
// Frames that C code has when it calls into the interpreter, and the last bit of a reference.
#if PY_VERSION_HEX >= 0x030E0000
constexpr char kEntryOwner = FRAME_OWNED_BY_INTERPRETER;
constexpr uint64_t kTags = 1;
#else
constexpr char kEntryOwner = FRAME_OWNED_BY_CSTACK;
constexpr uint64_t kTags = 0;
#endif
#endif

}  // namespace

void set_newest_thread(uintptr_t state) {
  newest = pointer<PyThreadState>(state);
}

MemoryImage::MemoryImage() : regions_(kParts) {
  regions_[kObjects].bytes.resize(kObjectBytes);
  regions_[kStates].bytes.resize(4 * sizeof(PyThreadState));
  regions_[kStack].bytes.resize(kStackBytes);
  for (size_t i = 0; i < kChunks; ++i)
    regions_[kFirstChunk + i].bytes.resize(kChunkBytes);
}

bool MemoryImage::read(std::span<const MemoryPiece> pieces) const {
  if (changes_ != nullptr && changes_->one_in(4))
    const_cast<MemoryImage*>(this)->spoil(*changes_);
  return std::ranges::all_of(pieces, [this](const MemoryPiece& piece) {
    const std::byte* place = find(address_of(piece.from), piece.bytes);
    if (place != nullptr && piece.bytes > 0)
      std::memcpy(piece.into, place, piece.bytes);
    return place != nullptr;
  });
}

std::byte* MemoryImage::find(uintptr_t address, size_t bytes) const {
  for (Region& region : regions_) {
    if (region.range.holds(address, bytes))
      return &region.bytes[address - region.range.start];
  }
  return nullptr;
}

uintptr_t MemoryImage::take(Region& region, size_t bytes) {
  const uintptr_t address = region.range.start + region.used;
  region.used += (bytes + 7) / 8 * 8;
  return address;
}

// Far apart, adjacent, within the first pages, and up to the last word of the address space.
void MemoryImage::place_regions(Random& random) {
  const bool are_close = random.one_in(4);
  uintptr_t next = uintptr_t{0x7F00'0000'0000} + random.up_to(1 << 20) * 4096;
  const size_t lowest = random.one_in(8) ? random.up_to(kParts - 1) : kParts;
  const size_t highest = random.one_in(8) ? random.up_to(kParts - 1) : kParts;
  for (size_t i = 0; i < kParts; ++i) {
    Region& region = regions_[i];
    uintptr_t start = next;
    if (i == highest)
      start = uintptr_t{0} - 8 - region.bytes.size();
    else if (i == lowest)
      start = 4096;
    else
      next += region.bytes.size() + (are_close ? 0 : size_t{1} << 20);
    region.range = {start, region.bytes.size()};
    region.used = 0;
    std::ranges::fill(region.bytes, std::byte{0});
  }
}

void MemoryImage::build(Random& random) {
  changes_ = nullptr;
  pointers_.clear();
  codes_.clear();
  threads_.clear();
  chunks_ = 0;
  place_regions(random);
  const size_t codes = 1 + random.up_to(3);
  for (size_t i = 0; i < codes; ++i)
    add_code(random, i);
  const size_t threads = 1 + random.up_to(2);
  for (size_t i = 0; i < threads; ++i)
    add_thread(random);
  link_threads();
}

uintptr_t MemoryImage::add_text(Random& random, const std::string& text) {
  const unsigned kind = random.one_in(3) ? 1U << random.up_to(2) : 1;
  const bool is_ascii = kind == 1;
  auto head = empty<PyASCIIObject>();
  reinterpret_cast<PyObject*>(&head)->ob_type = &PyUnicode_Type;
  head.length = static_cast<Py_ssize_t>(text.size());
  head.state.kind = kind & 7;
  head.state.compact = 1;
  head.state.ascii = is_ascii ? 1 : 0;
  const size_t before = is_ascii ? sizeof(PyASCIIObject) : sizeof(PyCompactUnicodeObject);
  const uintptr_t address = take(regions_[kObjects], before + text.size() * kind);
  put(address, head);
  for (size_t i = 0; i < text.size(); ++i)
    put(address + before + i * kind, text[i]);
  note_pointer(address + offsetof(PyASCIIObject, length));
  note_pointer(address + offsetof(PyASCIIObject, state));
  return address;
}

// A location table. Any bytes are valid.
uintptr_t MemoryImage::add_bytes(Random& random) {
  const size_t count = random.up_to(60);
  auto head = empty<PyVarObject>();
  head.ob_base.ob_type = &PyBytes_Type;
  head.ob_size = static_cast<Py_ssize_t>(count);
  constexpr size_t kBefore = offsetof(PyBytesObject, ob_sval);
  const uintptr_t address = take(regions_[kObjects], kBefore + count);
  put(address, head);
  for (size_t i = 0; i < count; ++i)
    put(address + kBefore + i, static_cast<uint8_t>(random.next()));
  note_pointer(address + offsetof(PyVarObject, ob_size));
  return address;
}

void MemoryImage::add_code(Random& random, size_t number) {
  Code code{};
  code.function = "function_" + std::to_string(random.up_to(9)) + "_" + std::to_string(number);
  code.code_bytes = 2 * (1 + random.up_to(40));
  const size_t words = kFrameWords + 1 + random.up_to(random.one_in(8) ? 900 : 20);
  code.frame_bytes = words * sizeof(PyObject*);
  auto head = empty<PyCodeObject>();
  auto* object = reinterpret_cast<PyVarObject*>(&head);
  object->ob_base.ob_refcnt = static_cast<decltype(object->ob_base.ob_refcnt)>(1 + random.up_to(9));
  object->ob_base.ob_type = &PyCode_Type;
  object->ob_size = static_cast<Py_ssize_t>(code.code_bytes / 2);
  head.co_firstlineno = static_cast<int>(random.up_to(1000));
  head.co_stacksize = 1;
  head.co_nlocalsplus = static_cast<int>(words - kFrameWords) - 1;
#if PY_VERSION_HEX >= 0x030C0000
  head.co_framesize = static_cast<int>(words);
  head.co_version = static_cast<uint32_t>(random.next());
#endif
  head.co_filename = pointer<PyObject>(add_text(random, random.one_in(2) ? "<made>" : "file.py"));
  head.co_qualname = pointer<PyObject>(add_text(random, code.function));
  head.co_linetable = pointer<PyObject>(add_bytes(random));
  code.address = take(regions_[kObjects], sizeof(PyCodeObject) + code.code_bytes);
  put(code.address, head);
  for (const size_t field :
       {offsetof(PyCodeObject, co_filename), offsetof(PyCodeObject, co_qualname),
        offsetof(PyCodeObject, co_linetable), offsetof(PyVarObject, ob_size)})
    note_pointer(code.address + field);
  codes_.push_back(code);
}

uintptr_t MemoryImage::add_chunk(size_t which, uintptr_t previous) {
  Region& region = regions_[kFirstChunk + which];
  auto chunk = empty<_PyStackChunk>();
  chunk.previous = pointer<_PyStackChunk>(previous);
  chunk.size = kChunkBytes;
  put(region.range.start, chunk);
  region.used = offsetof(_PyStackChunk, data);
  note_pointer(region.range.start + offsetof(_PyStackChunk, previous));
  note_pointer(region.range.start + offsetof(_PyStackChunk, size));
  return region.range.start;
}

// Frames from the outermost inwards, end to end, in one or several chunks.
void MemoryImage::add_thread(Random& random) {
  ImageThread thread;
  thread.state = take(regions_[kStates], sizeof(PyThreadState));
  const size_t frames = chunks_ < kChunks ? random.up_to(random.one_in(8) ? 300 : 12) : 0;
  uintptr_t top = 0;
  AddressRange chunk{};
  for (size_t i = 0; i < frames; ++i) {
    const Code& code = random.one_of(codes_);
    const Region* region = chunk.bytes == 0 ? nullptr : &regions_[kFirstChunk + chunks_ - 1];
    const bool is_full = region != nullptr && region->used + code.frame_bytes > kChunkBytes;
    if (region == nullptr || is_full || (random.one_in(16) && chunks_ < kChunks)) {
      if (chunks_ == kChunks)
        break;
      chunk = {add_chunk(chunks_++, chunk.start), kChunkBytes};
    }
    const uintptr_t address = take(regions_[kFirstChunk + chunks_ - 1], code.frame_bytes);
    add_frame(random, code, address, top);
    top = address;
    if (is_shown(random, address))
      thread.functions.insert(thread.functions.begin(), code.function);
    if (random.one_in(8))
      top = add_entry(random, top);
  }
  const size_t used = chunk.bytes == 0 ? 0 : regions_[kFirstChunk + chunks_ - 1].used;
  add_state(thread.state, top, chunk, chunk.start + used);
  threads_.push_back(std::move(thread));
}

void MemoryImage::add_frame(Random& random, const Code& code, uintptr_t address,
                            uintptr_t previous) {
  constexpr size_t kCodeStart = offsetof(PyCodeObject, co_code_adaptive);
  auto frame = empty<_PyInterpreterFrame>();
  frame.previous = pointer<_PyInterpreterFrame>(previous);
  frame.f_globals = pointer<PyObject>(code.address);
  put(address, frame);
#if PY_VERSION_HEX >= 0x030E0000
  put(address + kCode, code.address | random.up_to(kTags));
#else
  put(address + kCode, code.address);
#endif
  put(address + kInstruction,
      code.address + kCodeStart - 2 + 2 * random.up_to(code.code_bytes / 2));
  for (const size_t field : {offsetof(_PyInterpreterFrame, previous), kCode, kInstruction})
    note_pointer(address + field);
}

// Makes some frames those of the interpreter's own code. Returns whether this is not one of them.
bool MemoryImage::is_shown(Random& random, uintptr_t address) {
#if PY_VERSION_HEX >= 0x030D0000
  if (random.one_in(8)) {
    put(address + offsetof(_PyInterpreterFrame, f_funcobj),
        address_of(&_Py_NoneStruct) | random.up_to(kTags));
    return false;
  }
#else
  static_cast<void>(random);
  static_cast<void>(address);
#endif
  return true;
}

// Adds a frame without code on the thread's C stack. Returns the innermost frame.
uintptr_t MemoryImage::add_entry(Random& random, uintptr_t previous) {
#if PY_VERSION_HEX >= 0x030C0000
  if (regions_[kStack].used + sizeof(_PyInterpreterFrame) > kStackBytes / 2)
    return previous;
  const uintptr_t address = take(regions_[kStack], sizeof(_PyInterpreterFrame));
  auto frame = empty<_PyInterpreterFrame>();
  frame.previous = pointer<_PyInterpreterFrame>(previous);
  frame.owner = kEntryOwner;
  put(address, frame);
  put(address + kCode, address_of(&_Py_NoneStruct) | random.up_to(kTags));
  note_pointer(address + offsetof(_PyInterpreterFrame, previous));
  note_pointer(address + offsetof(_PyInterpreterFrame, owner) / 8 * 8);
  return address;
#else
  static_cast<void>(random);
  return previous;
#endif
}

void MemoryImage::add_state(uintptr_t address, uintptr_t top, const AddressRange& chunk,
                            uintptr_t room) {
  auto state = empty<PyThreadState>();
  state.interp = PyInterpreterState_Main();
  state.id = threads_.size() + 1;
  state.datastack_chunk = pointer<_PyStackChunk>(chunk.start);
  state.datastack_top = pointer<PyObject*>(room);
  state.datastack_limit = pointer<PyObject*>(chunk.start + chunk.bytes);
#if PY_VERSION_HEX >= 0x030D0000
  state.current_frame = pointer<_PyInterpreterFrame>(top);
  note_pointer(address + offsetof(PyThreadState, current_frame));
#else
  const uintptr_t place = regions_[kStack].range.start + kStackBytes / 2 + threads_.size() * 64;
  auto evaluation = empty<_PyCFrame>();
  evaluation.current_frame = pointer<_PyInterpreterFrame>(top);
  put(place, evaluation);
  state.cframe = pointer<_PyCFrame>(place);
  note_pointer(address + offsetof(PyThreadState, cframe));
  note_pointer(place + offsetof(_PyCFrame, current_frame));
#endif
  put(address, state);
  for (const size_t field :
       {offsetof(PyThreadState, datastack_chunk), offsetof(PyThreadState, datastack_top),
        offsetof(PyThreadState, datastack_limit)})
    note_pointer(address + field);
}

void MemoryImage::link_threads() {
  for (size_t i = 0; i < threads_.size(); ++i) {
    const uintptr_t address = threads_[i].state;
    const uintptr_t newer = i == 0 ? 0 : threads_[i - 1].state;
    const uintptr_t older = i + 1 < threads_.size() ? threads_[i + 1].state : 0;
    put(address + offsetof(PyThreadState, prev), newer);
    put(address + offsetof(PyThreadState, next), older);
    note_pointer(address + offsetof(PyThreadState, prev));
    note_pointer(address + offsetof(PyThreadState, next));
  }
  set_newest_thread(threads_.front().state);
}

// Values as in stale and half-written memory: small numbers of either sign, addresses just inside
// and outside of valid memory, and anything else.
uint64_t MemoryImage::strange(Random& random) const {
  const uint64_t near = 8 * random.up_to(16);
  const AddressRange& range = random.one_of(regions_).range;
  switch (random.up_to(9)) {
    case 0:
      return near;
    case 1:
      return uint64_t{0} - near;
    case 2:
      return uint64_t{0} - random.up_to(300);
    case 3:
      return range.start + near;
    case 4:
      return range.start - near;
    case 5:
      return range.start + range.bytes - near;
    case 6:
      return range.start + random.up_to(range.bytes);
    case 7:
      return (uint64_t{1} << random.up_to(63)) - random.up_to(16);
    case 8:
      return random.one_of(pointers_) / 8 * 8;
    default:
      return random.next();
  }
}

void MemoryImage::spoil(Random& random) {
  const AddressRange& range = random.one_of(regions_).range;
  const bool is_pointer = !random.one_in(4);
  const uintptr_t address =
      is_pointer ? random.one_of(pointers_) : range.start + 8 * random.up_to(range.bytes / 8 - 1);
  uint64_t word = 0;
  if (const std::byte* place = find(address, sizeof(word)))
    std::memcpy(&word, place, sizeof(word));
  switch (random.up_to(3)) {
    case 0:
      put(address, word + 8 * random.up_to(64) - 256);
      break;
    case 1:
      put(address, word ^ uint64_t{1} << random.up_to(63));
      break;
    default:
      put(address, strange(random));
  }
}

}  // namespace perfprobe::test

#endif
