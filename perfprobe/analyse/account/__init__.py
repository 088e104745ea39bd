"""The account of the leading loop's time."""
