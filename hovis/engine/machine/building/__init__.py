"""Builders of virtual objects: the ops that make a real object of each kind, and fill it in."""
