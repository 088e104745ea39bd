"""The observer built for the torch that is there: found, looked up in the user's cache, compiled."""
