"""Interface between the host and a compiled program: arguments, results and ordered side effects."""
