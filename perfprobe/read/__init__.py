"""Readers: each turns files that another tool wrote into a `Recording`."""
