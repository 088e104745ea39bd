"""What to change: each rule makes changes of what other rules found, or says what it would need to know."""
