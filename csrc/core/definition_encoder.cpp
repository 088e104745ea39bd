#include "core/definition_encoder.h"

namespace perfprobe {
namespace {

template <class Row, class Value>
void add_column(BlockEncoder& encoder, const char* name, const MappedVector<Row>& rows,
                Value Row::* field) {
  std::vector<int64_t> column;
  column.reserve(rows.size());
  for (const Row& row : rows)
    column.push_back(row.*field);
  encoder.add_ids(name, column);
}

void encode(const MappedVector<std::string_view>& rows, BlockEncoder& encoder) {
  encoder.begin("strings", rows.size(), 1);
  encoder.add_text("text", rows);
}

void encode(const MappedVector<FrameKey>& rows, BlockEncoder& encoder) {
  encoder.begin("frames", rows.size(), 4);
  add_column(encoder, "file", rows, &FrameKey::file);
  add_column(encoder, "function", rows, &FrameKey::function);
  add_column(encoder, "first_line", rows, &FrameKey::first_line);
  add_column(encoder, "line", rows, &FrameKey::line);
}

void encode(const MappedVector<ModuleRow>& rows, BlockEncoder& encoder) {
  encoder.begin("modules", rows.size(), 3);
  add_column(encoder, "parent", rows, &ModuleRow::parent);
  add_column(encoder, "name", rows, &ModuleRow::name);
  add_column(encoder, "type", rows, &ModuleRow::type);
}

void encode(const MappedVector<StackKey>& rows, BlockEncoder& encoder) {
  encoder.begin("stacks", rows.size(), 3);
  add_column(encoder, "parent", rows, &StackKey::parent);
  add_column(encoder, "frame", rows, &StackKey::frame);
  add_column(encoder, "module", rows, &StackKey::module);
}

void encode(const MappedVector<SignatureRow>& rows, BlockEncoder& encoder) {
  encoder.begin("signatures", rows.size(), 4);
  add_column(encoder, "text", rows, &SignatureRow::text);
  add_column(encoder, "example", rows, &SignatureRow::example);
  add_column(encoder, "values", rows, &SignatureRow::values);
  add_column(encoder, "grad_mask", rows, &SignatureRow::grad_mask);
}

void encode(const MappedVector<SignatureValues>& rows, BlockEncoder& encoder) {
  encoder.begin("signature_values", rows.size(), 2);
  add_column(encoder, "signature", rows, &SignatureValues::signature);
  add_column(encoder, "values", rows, &SignatureValues::values);
}

void encode(const MappedVector<ThreadRow>& rows, BlockEncoder& encoder) {
  encoder.begin("threads", rows.size(), 3);
  add_column(encoder, "os_thread", rows, &ThreadRow::os_thread);
  add_column(encoder, "forward_id", rows, &ThreadRow::forward_id);
  add_column(encoder, "name", rows, &ThreadRow::name);
}

template <class Row>
bool write_table(MappedVector<Row>& rows, BlockEncoder& encoder, RecordingFile& file) {
  if (rows.empty())
    return true;
  encode(rows, encoder);
  if (!file.append(encoder.payload()))
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
