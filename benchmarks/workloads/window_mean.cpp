// A sliding-window mean and its derivative for transformer.py: an operator that torch does not
// have.
//
// workloads::window_mean(x, radius): x [batch, length, width], float32. Every position becomes the
// mean of the positions at most `radius` away within the sequence.

#include <algorithm>
#include <cstdint>
#include <utility>

#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace workloads {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

void add_scaled(float* sum, const float* row, float scale, int64_t width) {
  for (int64_t i = 0; i < width; ++i) {
    sum[i] += scale * row[i];
  }
}

// One sequence: every row of `out` gets its share of the rows near it. For backward the shares go
// the other way.
void spread(const float* in, float* out, int64_t length, int64_t width, int64_t radius,
            bool backward) {
  for (int64_t centre = 0; centre < length; ++centre) {
    const int64_t first = std::max<int64_t>(0, centre - radius);
    const int64_t last = std::min(length - 1, centre + radius);
    const float share = 1.0F / static_cast<float>(last - first + 1);
    for (int64_t near = first; near <= last; ++near) {
      const auto [to, from] = backward ? std::pair(near, centre) : std::pair(centre, near);
      add_scaled(out + to * width, in + from * width, share, width);
    }
  }
}

Tensor spread_all(const Tensor& given, int64_t radius, bool backward) {
  TORCH_CHECK(given.dim() == 3 && given.scalar_type() == at::kFloat,
              "expected float32 [batch, length, width]");
  TORCH_CHECK(radius >= 0, "expected a radius of 0 or more");
  const Tensor source = given.contiguous();
  Tensor result = at::zeros_like(source);
  const int64_t length = source.size(1);
  const int64_t width = source.size(2);
  for (int64_t sequence = 0; sequence < source.size(0); ++sequence) {
    const int64_t start = sequence * length * width;
    spread(source.const_data_ptr<float>() + start, result.mutable_data_ptr<float>() + start, length,
           width, radius, backward);
  }
  return result;
}

Tensor window_mean(const Tensor& x, int64_t radius) {
  return spread_all(x, radius, false);
}

Tensor window_mean_backward(const Tensor& gradient, int64_t radius) {
  return spread_all(gradient, radius, true);
}

struct WindowMean : torch::autograd::Function<WindowMean> {
  static Tensor forward(AutogradContext* context, const Tensor& x, int64_t radius) {
    context->saved_data["radius"] = radius;
    return window_mean(x, radius);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    static const auto derivative = c10::Dispatcher::singleton()
                                       .findSchemaOrThrow("workloads::window_mean_backward", "")
                                       .typed<Tensor(const Tensor&, int64_t)>();
    return {derivative.call(gradients[0], context->saved_data["radius"].toInt()), Tensor()};
  }
};

Tensor window_mean_with_gradient(const Tensor& x, int64_t radius) {
  return WindowMean::apply(x, radius);
}

}  // namespace workloads

TORCH_LIBRARY(workloads, library) {
  library.def("window_mean(Tensor x, int radius) -> Tensor");
  library.def("window_mean_backward(Tensor gradient, int radius) -> Tensor");
}

TORCH_LIBRARY_IMPL(workloads, CPU, library) {
  library.impl("window_mean", workloads::window_mean);
  library.impl("window_mean_backward", workloads::window_mean_backward);
}

TORCH_LIBRARY_IMPL(workloads, Autograd, library) {
  library.impl("window_mean", workloads::window_mean_with_gradient);
}
