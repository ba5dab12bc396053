"""User-defined derivatives: ``custom_vjp``, ``custom_jvp``, ``stop_gradient``.

A call of such a function is one op as long as it may still be differentiated, so that its rule is found; after that the op is
replaced by the body of the function (:func:`hovis.front.kernels.kernel_calls.expanded`).
"""

import abc
import inspect
from collections.abc import Callable
from typing import Any, Final

from hovis.base import pytree
from hovis.base.function_wrapper import Wrapper, take_names
from hovis.errors import DerivativeError, SpecError
from hovis.front.outcome import COMPUTED, outcome
from hovis.ir.model import Operand, Param
from hovis.lattice import Const, Type
from hovis.library.numpy.adjoints.tangents import tangent
from hovis.library.standard import STANDARD
from hovis.library.tables.derivatives import TABLE, Own
from hovis.transforms import rule_tracing
from hovis.transforms.record.boxes import bare, record
from hovis.transforms.record.call_kinds import FOLLOWING, Following
from hovis.transforms.record.recorder import is_recorded


class Kernel(Own, Wrapper):
    """A function of numbers and arrays whose calls stay single ops as long as something may be differentiated."""

    __slots__ = ("__dict__", "__weakref__", "_named", "_places", "fn", "placed", "said")

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__()
        if not callable(fn):
            raise SpecError(f"a function with rules of its own takes a callable, not a {type(fn).__name__}")
        self.fn = fn
        #: the rules that were given to it, each after the name of the method by which it was given
        self.said: tuple[tuple[Any, ...], ...] = ()
        self._places, self._named = _places(fn)
        #: the same function with all arguments by position: ops call it if keyword-only arguments are given
        self.placed: Any = self if not self._named else type(self)(self.by_place(fn))
        for made in {self, self.placed}:
            take_names(made, fn)

    def made_of(self) -> tuple[Any, ...] | None:
        return self.fn, self.__qualname__, *self.said

    def says(self, how: str, *what: Any) -> None:
        """Record that a rule was given by the method ``how``, in place of an earlier rule given by it."""
        self.said = *(one for one in self.said if one[0] != how), (how, *what)

    def by_place(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Return fn, or a rule of it, that takes by position, behind all others, the arguments that the function itself takes by keyword only."""
        names = [name for name, _ in self._named]
        if not names or not set(names) <= {name for name, _ in _places(fn)[1]}:
            return fn
        count = len(names)

        def by_place(*args: Any) -> Any:
            return fn(*args[:-count], **dict(zip(names, args[-count:], strict=True)))

        return by_place

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        if self._names_some(named):
            return self.placed(*self._by_position(args, named, self._named))
        return whole(self, self._by_position(args, named) if named else args)

    def _names_some(self, named: dict[str, Any]) -> bool:
        """Is a keyword-only argument given, or required?"""
        for name, default in self._named:
            if name in named or default is inspect.Parameter.empty:
                return True
        return False

    def _by_position(self, args: tuple[Any, ...], named: dict[str, Any], behind: "_Defaults" = ()) -> tuple[Any, ...]:
        """Return all arguments by position, as rules take them: those given by name in their places, the keyword-only ones (``behind``) last."""
        found, left = list(args), dict(named)
        for name, default in self._places[len(args) :]:
            if name in left:
                found.append(left.pop(name))
            elif left and default is not inspect.Parameter.empty:
                found.append(default)
            else:
                break
        for name, default in behind:
            value = left.pop(name, default)
            if value is inspect.Parameter.empty:
                raise TypeError(f"{self.__name__}() missing a required keyword-only argument: '{name}'")
            found.append(value)
        if left:
            inspect.signature(self.fn).bind(*args, **named)
            raise TypeError(f"{self.__name__}() has rules, so its arguments are passed by position: {', '.join(left)} can't be passed by name")
        return tuple(found)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.__qualname__}>"


_Defaults = tuple[tuple[str, Any], ...]


def _places(fn: Callable[..., Any]) -> tuple[_Defaults, _Defaults]:
    """Return the positional and the keyword-only parameters of fn: the name by which each may be given, or an empty string, and its default."""
    try:
        params = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):  # C code without a signature
        return (), ()
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    plain = tuple([(one.name if one.kind is by_place[1] else "", one.default) for one in params if one.kind in by_place])
    return plain, tuple([(one.name, one.default) for one in params if one.kind is inspect.Parameter.KEYWORD_ONLY])


class Custom(Kernel, Following, abc.ABC):
    """A function with a custom rule, whose arguments are trees; its ops take the leaves (:class:`Laid`)."""

    __slots__ = ("_flat", "_laid", "rule")

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__(fn)
        self.rule: Any = None
        #: the Laids that were made, by the trees of their arguments and results
        self._laid: dict[Any, Laid] = {}
        self._flat: dict[Any, Callable[..., Any]] = {}

    def __call__(self, *args: Any, **named: Any) -> Any:
        if self._names_some(named):
            return self.placed(*self._by_position(args, named, self._named))
        given = self._by_position(args, named) if named else args
        leaves: list[Any] = []
        tree = pytree.flatten(given, leaves)
        kernel, plan, shape = laid_out(self, tree, tuple(leaves))
        if kernel is None:
            return whole(self, given)
        found = whole(kernel, tuple(leaves))
        parts = (found,) if len(plan) == 1 else found
        return pytree.rebuilt(shape, [parts[k] if plan[k] is COMPUTED else plan[k] for k in range(len(plan))])

    def calls_alike(self) -> Any:
        made: Any = type(self)(self.fn)
        for how, *what in self.said:
            getattr(made, how)(*what)
        made.__dict__.update(self.__dict__)
        return made

    def flat(self, tree: Any) -> Callable[..., Any]:
        """Return the function of the leaves of arguments with this tree, which returns the leaves of its result, and their tree."""
        fn = self.fn

        def flat(*given: Any) -> Any:
            result: list[Any] = []
            shape = pytree.flatten(fn(*pytree.rebuilt(tree, given)), result)
            return tuple(result), shape

        return self._flat.setdefault(tree, flat)

    def laid(self, tree: Any, plan: tuple[Any, ...], shape: Any) -> "Laid":
        """Return the Laid that does calls with arguments of the tree ``tree`` and results of the tree ``shape``."""
        key = tree, plan, shape
        if key not in self._laid:
            self._laid[key] = self.make_laid(tree, len(plan), shape)
        return self._laid[key]

    @abc.abstractmethod
    def make_laid(self, tree: Any, count: int, shape: Any) -> "Laid":
        """Make the Laid, with its rule, for arguments of this tree."""


class Laid(Kernel):
    """The function of a Custom on leaves: it takes the leaves of the arguments, and returns the only leaf of the result, or a tuple of them."""

    __slots__ = ()

    def __init__(self, custom: Custom, tree: Any, count: int) -> None:
        def fn(*leaves: Any) -> Any:
            found: list[Any] = []
            pytree.flatten(custom.fn(*pytree.rebuilt(tree, leaves)), found)
            return tuple(found) if count != 1 else found[0]

        super().__init__(fn)
        self.__name__ = self.__qualname__ = custom.__name__


class CustomVjp(Custom):
    """See :func:`custom_vjp`."""

    __slots__ = ()

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule: ``fwd(*args)`` returns the result and saved values, ``bwd(saved, cotangent)`` the cotangents of the arguments (a tuple)."""
        if self.placed is not self:
            self.placed.defvjp(self.by_place(fwd), bwd)
        self.says("defvjp", fwd, bwd)
        self.rule = fwd, bwd
        self._laid.clear()

        def every(k: int, g: Any, y: Any, args: Any) -> Any:
            return bwd(fwd(*args)[1], complete(g, y))[k]

        _pulled_by(self, every)
        return bwd

    def make_laid(self, tree: Any, count: int, shape: Any) -> Laid:
        made = Laid(self, tree, count)
        if self.rule is not None:
            fwd, bwd = self.rule

            def every(k: int, g: Any, y: Any, leaves: Any) -> Any:
                cotangent = pytree.rebuilt(shape, (complete(g, y),) if count == 1 else complete(g, y))
                found: list[Any] = []
                _along(tree, tuple(bwd(fwd(*pytree.rebuilt(tree, leaves))[1], cotangent)), found)
                return found[k]

            _pulled_by(made, every)
        return made


class CustomJvp(Custom):
    """See :func:`custom_jvp`."""

    __slots__ = ()

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule: ``rule(args, tangents)`` returns the result and its tangent."""
        if self.placed is not self:
            self.placed.defjvp(rule)
        self.says("defjvp", rule)
        self.rule = rule
        self._laid.clear()
        _pushed_by(self, lambda args, tangents: rule(args, tangents)[1])
        return rule

    def make_laid(self, tree: Any, count: int, shape: Any) -> Laid:
        made = Laid(self, tree, count)
        if self.rule is not None:
            rule = self.rule

            def push(leaves: Any, tangents: Any) -> Any:
                found: list[Any] = []
                _along(shape, rule(pytree.rebuilt(tree, leaves), pytree.rebuilt(tree, tangents))[1], found)
                return tuple(found) if count != 1 else found[0]

            _pushed_by(made, push)
        return made


def _pulled_by(kernel: Kernel, pull: Callable[[int, Any, Any, Any], Any]) -> None:
    """Make ``pull(k, g, y, args)`` the rule for the cotangent of the k-th operand.

    While a program is recorded, functions that a rule closes over are known values, and so is everything that these close over in turn.
    """
    TABLE.row(kernel).every_pull = lambda k, g, y, *args: pull(k, g, y, args)


def _pushed_by(kernel: Kernel, push: Callable[[Any, Any], Any]) -> None:
    """Make ``push(args, tangents)`` the rule for the tangent of a kernel's result, applied to one operand after the other."""

    def one(k: int, t: Any, args: Any) -> Any:
        return push(args, tuple([t if j == k else tangent(x) for j, x in enumerate(args)]))

    row = TABLE.row(kernel)
    row.every_push = lambda k, t, y, *args: one(k, t, args)
    row.transposed = lambda k, t, *args: one(k, t, args)


def complete(g: Any, y: Any) -> Any:
    """Return the cotangent g of y, with zeros in place of None."""
    if isinstance(y, tuple | list):
        return tuple([complete(None if g is None else g[k], y[k]) for k in range(len(y))])
    return tangent(y) if g is None else g


def _along(tree: Any, x: Any, found: list[Any]) -> None:
    """Append to ``found`` the leaves of x, which has this tree, or None in place of a part of it."""
    if tree is pytree.LEAF:
        found.append(x)
        return
    count = len(tree.children)
    if x is None:
        children: Any = [None] * count
    elif tree.kind == "instance":
        children = [getattr(x, name) for name in tree.extra]
    elif tree.kind == "registered":
        children = pytree.NODES[tree.cls][0](x)[0]
    else:
        if not isinstance(x, dict if tree.kind == "dict" else tuple | list) or len(x) != count:
            raise TypeError(f"for such an argument, a rule must return a {tree.cls.__name__} of length {count}, or None")
        children = [x[key] for key in tree.extra] if tree.kind == "dict" else x
    for k in range(count):
        _along(tree.children[k], children[k], found)


def custom_vjp(fn: Callable[..., Any]) -> CustomVjp:
    """Decorator: give fn a custom rule for cotangents.

    fn   a callable of trees of numbers and arrays; SpecError for anything else

    ``defvjp(forward, backward)``: forward takes the arguments by position, and returns the result and the values that backward needs; backward
    takes these values and the cotangent of the result, and returns a tuple with a cotangent for each argument.  Without a rule, derivatives
    raise DerivativeError.

    >>> from hovis import grad
    >>> @custom_vjp
    ... def clipped(x): return x
    >>> _ = clipped.defvjp(lambda x: (x, None), lambda _, g: (min(g, 1.0),))
    >>> grad(lambda x: 5.0 * clipped(x))(3.0)
    1.0
    """
    return CustomVjp(fn)


def custom_jvp(fn: Callable[..., Any]) -> CustomJvp:
    """Decorator: give fn a custom rule for tangents, in which the rule is linear.

    fn   a callable of trees of numbers and arrays; SpecError for anything else

    ``defjvp(rule)`` takes a function of the arguments and their tangents (two tuples, by position) that returns the result and its
    tangent.  Without a rule, derivatives raise DerivativeError.

    >>> from hovis import grad
    >>> @custom_jvp
    ... def cube(x): return x * x * x
    >>> _ = cube.defjvp(lambda args, tangents: (cube(*args), 3.0 * args[0] ** 2 * tangents[0]))
    >>> grad(cube)(2.0)
    12.0
    """
    return CustomJvp(fn)


def stop_gradient(x: Any) -> Any:
    """Return x, which counts as a constant in derivatives: what is computed from it contributes nothing.

    x   a tree of numbers and arrays; it is returned unchanged.  Raises nothing.

    >>> from hovis import grad
    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    3.0
    """
    leaves: list[Any] = []
    tree = pytree.flatten(x, leaves)
    return pytree.rebuilt(tree, [whole(STOPPED, (leaf,)) for leaf in leaves])


STOPPED: Final = Kernel(lambda x: x)
STOPPED.__name__ = STOPPED.__qualname__ = "stop_gradient"
TABLE.row(STOPPED).constant = True


def whole(kernel: Kernel, args: tuple[Any, ...]) -> Any:
    """Call a kernel as one op: run it here, or record it if its arguments are recorded."""
    return record(kernel, args, {}) if is_recorded(args) else kernel.fn(*args)


def laid_out(custom: Custom, tree: Any, leaves: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """Return the Laid that does a call with arguments of this tree and these leaves, the plan of the leaves of the result, and their tree.

    None for each if the arguments are leaves themselves, and outside of a trace, unless a program is recorded.
    """
    if not is_recorded(leaves):
        return None, None, None
    found = plan_of(custom, tree, [_told_by(bare(leaf)) for leaf in leaves])
    if found is None:
        raise DerivativeError(
            f"{custom.__name__} has rules, and the structure of its result is not known beforehand: it may return numbers, arrays, and trees of these"
        )
    return found


def _told_by(value: Any) -> Operand:
    """Return what a trace knows of a value: its type and shape, or the value itself."""
    kind = STANDARD.of_value(value)
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:
        return Param(kind, tuple(map(Const, shape)))
    return Param(Type(type(value))) if isinstance(value, int | float | complex) or isinstance(shape, tuple) else Const(value)


def plan_of(custom: Custom, tree: Any, operands: list[Operand]) -> tuple[Laid, Any, Any] | None:
    """Return what :func:`laid_out` returns, from what is known of the leaves; None if the structure of the result is not known beforehand."""
    function, _ = rule_tracing.traced(custom.flat(tree), operands, {})
    found = outcome(function)
    return None if found is None else (custom.laid(tree, found.plans[0], found.tree), found.plans[0], found.tree)


FOLLOWING.update((whole, laid_out))
