// From newly interned definitions to their blocks in the file.
#pragma once

#include "core/block_encoder.h"
#include "core/definitions.h"
#include "core/recording_file.h"

namespace perfprobe {

// Writes and empties table by table, referred-to tables first. False when the disk refuses; what is
// left in `fresh` is then not written.
bool write_definitions(NewDefinitions& fresh, BlockEncoder& encoder, RecordingFile& file);

}  // namespace perfprobe
