"""Higher-order functions for users: ``grad``, ``vmap``, ``vjp``, ``inverse``, ``checkpoint``."""
