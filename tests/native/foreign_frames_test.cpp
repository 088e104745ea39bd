// The reader of other threads' frames, with images of memory: correct ones, and ones with arbitrary
// errors. A sanitizer finding ends the test. PERFPROBE_IMAGES is the number of images,
// PERFPROBE_FIRST_IMAGE the first one.
#include "python/foreign_frames.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "check.h"
#include "python/seen_code.h"

#ifndef PERFPROBE_FOREIGN_FRAMES

int main() {
  return 77;  // this Python's frames are not read
}

#else

#include "memory_image.h"

using perfprobe::ForeignFrame;
using perfprobe::ForeignFrames;
using perfprobe::Memory;
using perfprobe::SeenCode;
using perfprobe::SeenThread;
using perfprobe::test::ImageThread;
using perfprobe::test::MemoryImage;
using perfprobe::test::Random;

extern "C" void __sanitizer_set_death_callback(void (*)()) __attribute__((weak));

namespace {

uint64_t number = 0;  // number of the image that is being read

void print_image_number() {
  std::fprintf(stderr, "image %llu\n", static_cast<unsigned long long>(number));
}

struct Reached {
  int64_t stacks = 0;    // stacks that were read completely
  int64_t refused = 0;   // stacks that were refused
  int64_t named = 0;     // stacks whose code was verified
  int64_t unlisted = 0;  // images whose list of threads was refused
};

uint64_t number_of(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Reads the frames of a thread one by one, without copies of whole chunks. Returns how many are
// equal to `frames`.
size_t follow(const Memory& memory, const PyThreadState& state,
              const perfprobe::MappedVector<ForeignFrame>& frames) {
  const void* place = nullptr;
#if PY_VERSION_HEX >= 0x030D0000
  place = state.current_frame;
#else
  _PyCFrame evaluation;
  if (!memory.read(state.cframe, evaluation))
    return 0;
  place = evaluation.current_frame;
#endif
  size_t followed = 0;
  _PyInterpreterFrame frame;
  while (place != nullptr && followed < frames.size() && memory.read(place, frame)) {
    place = frame.previous;
#if PY_VERSION_HEX >= 0x030E0000
    if (frame.owner >= FRAME_OWNED_BY_INTERPRETER ||
        (frame.f_funcobj.bits & ~uintptr_t{3}) == perfprobe::address_of(&_Py_NoneStruct))
      continue;
    const void* code = reinterpret_cast<const void*>(frame.f_executable.bits & ~uintptr_t{3});
#elif PY_VERSION_HEX >= 0x030D0000
    if (frame.owner == FRAME_OWNED_BY_CSTACK || frame.f_funcobj == &_Py_NoneStruct)
      continue;
    const void* code = frame.f_executable;
#elif PY_VERSION_HEX >= 0x030C0000
    if (frame.owner == FRAME_OWNED_BY_CSTACK)
      continue;
    const void* code = frame.f_code;
#else
    const void* code = frame.f_code;
#endif
    if (code != frames[followed].code || frame.f_globals != frames[followed].globals)
      break;
    ++followed;
  }
  return followed;
}

void name_all(SeenCode& code, const ForeignFrames& frames, bool with_gaps, Reached& reached) {
  if (!code.check(frames.frames(), with_gaps))
    return;
  ++reached.named;
  for (const ForeignFrame& frame : frames.frames()) {
    const SeenCode::Entry& entry = code.entry(frame.code);
    CHECK(entry.line_of(frame.instruction) != perfprobe::kNone || entry.first_line < 0);
  }
}

std::vector<SeenThread> listed(const MemoryImage& image, Reached& reached) {
  std::vector<SeenThread> threads;
  if (read_threads(image, threads))
    return threads;
  ++reached.unlisted;
  threads.clear();
  for (const ImageThread& thread : image.threads()) {
    SeenThread seen{reinterpret_cast<const PyThreadState*>(thread.state), {}};
    if (image.read(seen.address, seen.state))
      threads.push_back(seen);
  }
  return threads;
}

class Reader {
 public:
  void whole_images_are_read_as_they_are(Random& random);
  void anything_may_be_wrong(Random& random);
  [[nodiscard]] const Reached& reached() const { return reached_; }

 private:
  MemoryImage image_;
  ForeignFrames frames_{image_};
  SeenCode code_{image_};
  Reached reached_;
};

void Reader::whole_images_are_read_as_they_are(Random& random) {
  image_.build(random);
  SeenCode code(image_);  // one that knows earlier images may confuse texts
  std::vector<SeenThread> threads;
  CHECK(read_threads(image_, threads));
  CHECK_EQUAL(threads.size(), image_.threads().size());
  for (size_t i = 0; i < threads.size(); ++i) {
    const std::vector<std::string>& functions = image_.threads()[i].functions;
    CHECK(frames_.read(threads[i]) || frames_.read(threads[i]));
    CHECK_EQUAL(frames_.frames().size(), functions.size());
    CHECK(code.check(frames_.frames(), false));
    for (size_t k = 0; k < std::min(functions.size(), frames_.frames().size()); ++k)
      CHECK_EQUAL(std::string(code.entry(frames_.frames()[k].code).function), functions[k]);
  }
}

void Reader::anything_may_be_wrong(Random& random) {
  image_.build(random);
  for (uint64_t count = 1 + random.up_to(7); count > 0; --count)
    image_.spoil(random);
  const bool changes = random.one_in(4);
  if (changes)
    image_.change_while_read(random);
  for (SeenThread& thread : listed(image_, reached_)) {
    for (int i = 0; i < 2; ++i) {
      if (!frames_.read(thread)) {
        ++reached_.refused;
        continue;
      }
      ++reached_.stacks;
      if (!changes)
        CHECK_EQUAL(follow(image_, thread.state, frames_.frames()), frames_.frames().size());
      name_all(code_, frames_, random.one_in(2), reached_);
    }
  }
}

}  // namespace

int main() {
  const uint64_t images = number_of("PERFPROBE_IMAGES", 30'000);
  const uint64_t first = number_of("PERFPROBE_FIRST_IMAGE", 0);
  if (__sanitizer_set_death_callback != nullptr)
    __sanitizer_set_death_callback(print_image_number);
  Reader reader;
  for (number = first; number < first + images; ++number) {
    Random random(number);
    const int before = perfprobe::test::failures;
    if (number % 16 == 0)
      reader.whole_images_are_read_as_they_are(random);
    else
      reader.anything_may_be_wrong(random);
    if (perfprobe::test::failures > before) {
      print_image_number();
      return perfprobe::test::report();
    }
  }
  const auto& reached = reader.reached();
  std::fprintf(stderr, "%lld stacks read, %lld of them named, %lld refused, %lld lists refused\n",
               static_cast<long long>(reached.stacks), static_cast<long long>(reached.named),
               static_cast<long long>(reached.refused), static_cast<long long>(reached.unlisted));
  CHECK(images < 1000 || reached.named * 10 > reached.stacks);
  CHECK(images < 1000 || reached.refused * 10 > reached.stacks);
  return perfprobe::test::report();
}

#endif
