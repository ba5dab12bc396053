"""Tables of rules that libraries fill: derivatives, batching rules, inverses, lowerings."""
