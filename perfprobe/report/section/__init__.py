"""The sections of a report: blocks of headings, columns and notes, made from rows."""
