"""How many threads work at a time, which operators leave their team idle, and what is wrong with threads."""
