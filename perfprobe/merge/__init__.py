"""From a Recording to a Trace: one clock, linked rows, resolved names."""

from perfprobe.merge.link import link

__all__ = ["link"]
