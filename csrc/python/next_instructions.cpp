#include "python/next_instructions.h"

#include <opcode.h>

namespace perfprobe {
namespace {

constexpr size_t kCodeUnitBytes =
    2;  // opcode and argument; from 3.11 on data may follow in more units

bool asks_for_next(uint8_t opcode) {
  switch (opcode) {
    case FOR_ITER:
#if PY_VERSION_HEX >= 0x030C0000
    case FOR_ITER_GEN:
    case FOR_ITER_LIST:
    case FOR_ITER_RANGE:
    case FOR_ITER_TUPLE:
    case INSTRUMENTED_FOR_ITER:
#endif
      return true;
    default:
      return false;
  }
}

// Data of an instruction may look like FOR_ITER. In 3.11 and 3.12 a frame that calls Python stands
// at the last unit of the instruction's data, so only what the compiler puts before a FOR_ITER
// tells them apart. In other versions frames stand at instructions.
bool may_be_before(uint8_t opcode) {
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030D0000
  switch (opcode) {
    case EXTENDED_ARG:
#if PY_VERSION_HEX < 0x030C0000
    case EXTENDED_ARG_QUICK:
#endif
    case GET_ITER:
    case LOAD_FAST:
    case SWAP:
      return true;
    default:
      return false;
  }
#else
  static_cast<void>(opcode);
  return true;
#endif
}

}  // namespace

Offsets next_instructions(std::span<const uint8_t> bytecode, std::pmr::memory_resource* memory) {
  Offsets found(memory);
  for (size_t at = kCodeUnitBytes; at + kCodeUnitBytes <= bytecode.size(); at += kCodeUnitBytes) {
    if (!asks_for_next(bytecode[at]) || !may_be_before(bytecode[at - kCodeUnitBytes]))
      continue;
    found.push_back(static_cast<int32_t>(at));
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000
    found.push_back(static_cast<int32_t>(at + kCodeUnitBytes));  // while a generator runs
#endif
  }
  return found;
}

std::span<const uint8_t> bytecode_of(PyCodeObject* code) {
#if PY_VERSION_HEX >= 0x030B0000
  return {reinterpret_cast<const uint8_t*>(code->co_code_adaptive),
          static_cast<size_t>(Py_SIZE(code)) * kCodeUnitBytes};
#else
  return {reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(code->co_code)),
          static_cast<size_t>(PyBytes_GET_SIZE(code->co_code))};
#endif
}

}  // namespace perfprobe
