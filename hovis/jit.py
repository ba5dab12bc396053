"""``hovis.jit``: residuals made when they are first needed, kept by what the arguments are.

A first cut of it: the key is made of the arguments' types, of the values of strings, bools, None, functions and
classes, and of what the user names static.  Reads of the environment are guarded (see :class:`Guarded`).
"""
