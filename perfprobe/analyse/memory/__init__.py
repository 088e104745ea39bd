"""Memory of tensors: whose it was, what it was for, the peak, and what grows."""
