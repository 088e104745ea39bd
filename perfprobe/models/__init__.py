"""What is known of an operator from its signature alone: shared by analyse and bench."""
