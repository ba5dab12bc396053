"""Passes over modules of StableHLO."""
