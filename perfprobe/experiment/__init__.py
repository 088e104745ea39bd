"""Experiments: variants of a program that run in fresh processes, in rounds, each variant once a round."""
