"""From jumps to structured control flow: ``if``, ``while``, ``try``, ``break``, ``continue``."""
