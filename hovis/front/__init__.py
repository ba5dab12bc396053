"""The front end: ``trace``, ``specialize``, ``jit``, and libraries of third parties."""
