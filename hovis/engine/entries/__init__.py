"""Entries, the specialized blocks under construction: by which keys they are told apart, and where what is in a key came from."""
