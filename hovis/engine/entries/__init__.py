"""Entries, the specialized blocks under construction: their keys, and the origin of the constants in a key."""
