"""Passes over loads, stores and containers."""
