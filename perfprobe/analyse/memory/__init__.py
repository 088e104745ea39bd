"""Memory of tensors: what allocated it, what it is for, the peak, and what grows."""
