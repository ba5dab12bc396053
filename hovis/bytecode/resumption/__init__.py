"""Continuation of activations in the middle of their code: where that is possible, and the code that does it."""
