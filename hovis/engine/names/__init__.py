"""Names: local variables, cells, globals, ``locals()``, the namespaces of class bodies."""
