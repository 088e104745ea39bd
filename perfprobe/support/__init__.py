"""Errors, units and text: the floor everything else stands on; standard library only."""
