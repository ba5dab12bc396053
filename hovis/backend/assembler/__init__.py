"""From a Function to a code object: instruction selection, register allocation, exception tables, line tables."""
