#include "torch/emitter.h"

#include <algorithm>

namespace perfprobe {
namespace {

std::vector<Emitter*> emitters;

}  // namespace

Emitter& emitter_of(const EmissionPort& port) {
  const auto has_sink = [&](const Emitter* emitter) { return &emitter->port == &port; };
  const auto known = std::ranges::find_if(emitters, has_sink);
  return known != emitters.end() ? **known : *emitters.emplace_back(new Emitter(port));
}

void forget_emitters() {
  emitters.clear();
}

}  // namespace perfprobe
