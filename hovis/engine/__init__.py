"""F3: bytecode is interpreted; what is known is done, what is not becomes IR."""
