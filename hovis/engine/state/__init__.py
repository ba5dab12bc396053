"""The state of the abstract machine: values, frames, heap, lifetimes, and the tables that survive a restart."""
