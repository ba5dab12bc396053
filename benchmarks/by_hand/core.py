"""The registry of the kernels written in jax."""
import jax

jax.config.update("jax_enable_x64", True)

#: The compiled functions, by the name of the kernel.
VERSIONS = {}


def by_hand(*static):
    """Compile the decorated function with the arguments at these positions static, and register it."""

    def keep(fn):
        VERSIONS[fn.__name__] = jax.jit(fn, static_argnums=static)
        return VERSIONS[fn.__name__]

    return keep
