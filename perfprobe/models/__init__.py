"""What measuring and judging share."""
