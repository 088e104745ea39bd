#include "core/definition_encoder.h"

#include <span>

#include "core/row_block.h"

namespace perfprobe {
namespace {

template <class Row>
bool write_table(MappedVector<Row>& rows, BlockEncoder& encoder, RecordingFile& file) {
  if (rows.empty())
    return true;
  encode_table(std::span<const Row>(rows), encoder);
  if (!file.append_for_all(encoder.payload()))
    return false;
  rows.clear();
  return true;
}

}  // namespace

bool write_definitions(NewDefinitions& fresh, BlockEncoder& encoder, RecordingFile& file) {
  return write_table(fresh.strings, encoder, file) && write_table(fresh.frames, encoder, file) &&
         write_table(fresh.modules, encoder, file) && write_table(fresh.stacks, encoder, file) &&
         write_table(fresh.signatures, encoder, file) &&
         write_table(fresh.signature_values, encoder, file) &&
         write_table(fresh.threads, encoder, file);
}

}  // namespace perfprobe
