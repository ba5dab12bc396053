"""Tables that libraries fill: derivatives, batching, inverses, lowerings."""
