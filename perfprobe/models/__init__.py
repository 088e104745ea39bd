"""What is known of an operator from its signature alone. Analyse and bench share it."""
