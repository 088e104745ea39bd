"""The first screen: what a report begins with."""
