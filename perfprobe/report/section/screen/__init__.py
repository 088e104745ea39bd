"""The first screen: the beginning of a report."""
