"""The data types that all stages share: tables of numpy columns, and the file that stores them."""
