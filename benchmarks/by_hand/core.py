"""Where the versions are kept."""
import jax

jax.config.update("jax_enable_x64", True)

#: By the name of the kernel.
VERSIONS = {}


def by_hand(*static):
    """Compiled, with these positions static, and kept."""

    def keep(fn):
        VERSIONS[fn.__name__] = jax.jit(fn, static_argnums=static)
        return VERSIONS[fn.__name__]

    return keep
