"""Rules, models and stand-ins for modules of the standard library."""
