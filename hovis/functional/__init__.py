"""Functions of functions, as users call them: ``grad``, ``vmap``, ``vjp``, ``inverse``, ``checkpoint``."""
