"""Passes over a Function before it is lowered."""
