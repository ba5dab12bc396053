"""Passes over values."""
