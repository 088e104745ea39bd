"""From the text of an operator's inputs to a real call."""
