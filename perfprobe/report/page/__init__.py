"""The report as one HTML file that needs no network: its own files, and what fills them from a recording."""
