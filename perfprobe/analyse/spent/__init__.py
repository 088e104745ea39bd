"""Time by stack: measured in operators, divided by samples between them."""
