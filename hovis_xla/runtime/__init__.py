"""Executables: compilation, buckets of sizes, serialization, and retries with longer tapes."""

from hovis.base import own_code

own_code.leave_as_calls(*__path__)
