"""The data types that every stage shares: tables of numpy columns, and the file they are kept in."""
