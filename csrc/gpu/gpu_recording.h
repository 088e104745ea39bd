// Records GPUs by CUPTI: a session, and a thread that fetches and decodes records as they come. A
// killed run loses at most its last second.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "core/emission_port.h"
#include "core/native_thread.h"
#include "core/recorder.h"
#include "gpu/cuda_driver.h"
#include "gpu/cupti_api.h"
#include "gpu/cupti_fixture.h"
#include "gpu/cupti_session.h"
#include "gpu/gpu_rows.h"
#include "gpu/gpu_states.h"
#include "gpu/gpu_totals.h"
#include "gpu/vendor_library.h"

namespace perfprobe {

struct GpuFigures {
  GpuRowFigures rows;
  GpuStateFigures states;
  BufferFigures buffers;        // of this recording, except the largest number in use
  int64_t dropped_records = 0;  // by CUPTI, out of memory
  int64_t flushes = 0;
  int64_t cpu_ns = 0;  // of the decoding thread
  int64_t started_ns = 0;
  int64_t stopped_ns = 0;
  bool is_canary_seen = false;
  bool had_context = false;    // a GPU was in use at the end
  bool is_broken = false;      // out of memory
  int64_t unresumed = 0;       // windows of steps in which CUPTI did not record all again
  bool is_unfinished = false;  // work on a GPU had not ended 2 s after the program's end
};

// What is recorded of CUDA graphs: their kernels, each of which costs as much as one that is
// launched alone, or each launch as a whole. It cannot be changed while the program runs: CUPTI
// 13.0.1 then crashes at the next launch of a graph.
enum class GraphDetail { nodes, launches };

// Never destroyed: its thread may be waiting for a lock when Python ends.
class GpuRecording {
 public:
  GpuRecording(Recorder& recorder, LibraryHints hints, bool with_ids,
               GraphDetail graphs = GraphDetail::nodes)
      : recorder_(recorder),
        hints_(std::move(hints)),
        with_ids_(with_ids),
        graphs_(graphs),
        states_(recorder, driver_) {}
  GpuRecording(const GpuRecording&) = delete;
  GpuRecording& operator=(const GpuRecording&) = delete;

  // Starts recording, or returns why not. Initialises CUDA: see CudaDriver.
  std::optional<CuptiFault> start();
  // Waits until the GPUs have done what the program launched, at most 2 s. Does nothing if `start`
  // failed. Takes at most 2.2 s more if no more records come.
  void stop();

  [[nodiscard]] const VendorLibrary& library() const { return library_; }
  [[nodiscard]] const CudaDriver& driver() const { return driver_; }
  [[nodiscard]] const CuptiSession& session() const { return session_; }
  [[nodiscard]] const CuptiApi& api() const { return api_; }
  // Takes the ids of operators once the recording has started.
  [[nodiscard]] const ExternalIdPort& external_ids() const { return external_ids_; }
  // May be called from any thread at any time.
  [[nodiscard]] GpuTotalsSnapshot totals() const { return totals_.read(); }
  // Valid after `stop`.
  [[nodiscard]] GpuFigures figures() const;

 private:
  std::optional<CuptiFault> keep_buffers();
  void keep_clocks();
  void follow_windows();
  void see_window();
  void leave_windows();
  void run();
  void fetch();
  bool await_work();
  void drain();
  void await_records();
  [[nodiscard]] BufferFigures own_buffers() const;

  Recorder& recorder_;
  const LibraryHints hints_;
  const bool with_ids_;
  const GraphDetail graphs_;
  VendorLibrary library_;
  CudaDriver driver_;
  CuptiApi api_{};
  ExternalIdPort external_ids_{};
  CuptiSession session_{api_};
  GpuTotals totals_;
  std::unique_ptr<GpuRows> rows_;
  GpuStates states_;
  std::optional<CuptiFixtureWriter> fixture_;
  GpuFigures figures_;
  BufferFigures buffers_before_;
  bool has_begun_ = false;
  bool is_ending_ = false;
  std::mutex windows_mutex_;  // what CUPTI is to record, and `figures_.unresumed`
  bool follows_windows_ = false;
  NativeThread thread_{[this] { run(); }, [] { cupti_buffers().wake(); }};
};

}  // namespace perfprobe
