"""Passes over the control-flow graph."""
