"""The call graph as a picture: gprof2dot's profile, pruning and DOT writer, rendered with graphviz."""
