"""Makes a Trace from a Recording: one clock, linked rows, resolved names."""

from perfprobe.merge.link import link

__all__ = ["link"]
