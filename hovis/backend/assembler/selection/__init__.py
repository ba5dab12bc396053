"""From ops to stack code: what each call becomes, and the constants, names and cells that it takes."""
