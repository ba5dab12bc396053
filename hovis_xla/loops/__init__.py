"""Loop passes on a Function before it is lowered to XLA."""
