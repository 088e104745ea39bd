"""Which parts of perfprobe work here. Only the standard library: it must run where all else is broken."""
