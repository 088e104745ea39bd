"""Rules that propose a change: made programs that trigger each, nearly do, and are healthy."""
