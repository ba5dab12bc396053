"""From a Function to statements of Python: structured control flow, names, expressions."""
