"""What `perfprobe threads` says of programs whose problem is known, and whether it is true."""
