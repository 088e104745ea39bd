"""Rebuilds a call from the text of an operator's inputs."""
