"""Files that other tools wrote, read as recordings."""
