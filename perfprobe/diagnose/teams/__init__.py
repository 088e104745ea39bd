"""Rules about threads: one for each kind of problem with their number or with what they do."""
