"""The signature language in which rules for calls are written, and the queries of rules about types and known values."""
