"""Actions on objects of the trace: attributes, special methods, descriptors, text."""
