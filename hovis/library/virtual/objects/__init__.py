"""Objects of the trace: attributes, special methods, descriptors, text."""
