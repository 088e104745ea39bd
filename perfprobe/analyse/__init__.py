"""From a Trace to findings: tables that a report can print."""
