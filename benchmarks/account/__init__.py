"""Whether the parts of the account are those that programs timed themselves, beside busy processes."""
