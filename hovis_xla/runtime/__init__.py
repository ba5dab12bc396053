"""Executables: compilation, buckets of sizes, serialization, and retries with longer tapes."""
