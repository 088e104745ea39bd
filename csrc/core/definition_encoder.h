// Writes newly interned definitions to the file as blocks.
#pragma once

#include "core/block_encoder.h"
#include "core/definitions.h"
#include "core/recording_file.h"

namespace perfprobe {

// Writes and empties table by table, referred-to tables first. Returns false if the disk refuses;
// definitions left in `fresh` are then not written.
bool write_definitions(NewDefinitions& fresh, BlockEncoder& encoder, RecordingFile& file);

}  // namespace perfprobe
