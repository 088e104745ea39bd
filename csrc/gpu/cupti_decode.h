// Decodes one CUPTI record into one row. Looking up names, launches and threads is left to the
// caller.
#pragma once

#include "gpu/cupti_walk.h"
#include "gpu/gpu_row_types.h"

namespace perfprobe {

LaunchRow decode_launch(const CuptiRecord& record);
KernelRow decode_kernel(const CuptiRecord& record, int32_t name, int32_t launch);
// A whole graph, as a kernel without a node.
KernelRow decode_graph(const CuptiRecord& record, int32_t name);
CopyRow decode_copy(const CuptiRecord& record);
CopyRow decode_peer_copy(const CuptiRecord& record);
CopyRow decode_fill(const CuptiRecord& record);
ApiCallRow decode_api_call(const CuptiRecord& record, int32_t name, int32_t thread);
WaitRow decode_wait(const CuptiRecord& record);
OverheadRow decode_overhead(const CuptiRecord& record);

}  // namespace perfprobe
