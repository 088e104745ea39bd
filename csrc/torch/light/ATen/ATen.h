// Found before torch's header of this name, which declares all of its operators and takes four
// seconds to read. Only <ATen/CachedTensorUtils.h> asks for it, for at::Tensor.
#pragma once

#include <ATen/core/Tensor.h>
