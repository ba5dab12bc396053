"""Derivatives of Python functions: ``grad``, ``value_and_grad``, ``jvp`` and Jacobians.

What they give are callables like any other.  Called as they are they run residual Python, made when it is first needed and
kept by what the arguments are; called in what is traced itself they are traced through.
"""

import dis
import functools
import types
from collections.abc import Callable, Sequence
from typing import Any, Final

from hovis.arguments.spec_parts import is_spec
from hovis.arguments.specs import Any as Unknown
from hovis.base import pytree
from hovis.base.function_wrapper import Alike, Held, Wrapper, take_names
from hovis.base.once import COMPILER
from hovis.engine.calls.inline_python import call_function
from hovis.engine.machine.call_results import finish, opaque
from hovis.engine.machine.machine import Machine
from hovis.engine.state.budget import LEAVABLE
from hovis.engine.state.type_lookup import bound_parts
from hovis.engine.state.values import Dyn, Known
from hovis.errors import SpecError
from hovis.front import tracing
from hovis.front.jit import Jitted
from hovis.front.jit_cache.cache_keys import Key, is_alike
from hovis.functional.argument_types import looked_at
from hovis.functional.nested_transforms import APPLYING, EAGER, certain, is_followed, is_still, is_untouched, through, watch
from hovis.ir.operations import UNBOUND, make_cell, make_function
from hovis.lattice import Const
from hovis.lattice.constants import ATOMS
from hovis.library.numpy.adjoints.tangents import as_tangent, assembled, directions, is_array, shape_of, size_of, sized, tangent, unit
from hovis.library.standard import STANDARD
from hovis.transforms.record.call_kinds import FOLLOWING, Following
from hovis.transforms.record.recorder import follow, is_recorded

#: An argument by its position, counted from the end if it is negative, or by the name of its parameter.
Argument = int | str
Argnums = Argument | Sequence[Argument]


# ------------------------------------------------------------------------------------------------- public


def grad(fn: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The gradient of a function whose result is a real number, in these arguments.

    argnums   a position, or a parameter's name: the gradient is of that argument's structure; several: a tuple of gradients
    has_aux   fn returns a pair, of which the second is passed on: (gradient, that)

    >>> grad(lambda x: x * x * x)(2.0)
    12.0
    >>> grad(lambda x, *, scale: x * scale, ("x", "scale"))(2.0, scale=5.0)
    (5.0, 2.0)
    """
    return Gradient(fn, argnums, has_aux, False)


def value_and_grad(fn: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """As :func:`grad`, with what fn returns: (value, gradient).

    >>> value_and_grad(lambda x: x * x)(3.0)
    (9.0, 6.0)
    """
    return Gradient(fn, argnums, has_aux, True)


def jvp(fn: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """What fn gives for these arguments, and how that changes as they do: (result, tangent), with has_aux (result, tangent, aux).

    >>> jvp(lambda x, y: x * y, (2.0, 5.0), (1.0, 0.0))
    (10.0, 5.0)
    """
    at = tuple(primals)
    some("jvp", at)
    return Push(fn, has_aux)(at, tuple(tangents))


def _named(argnums: Argnums) -> Argument | tuple[Argument, ...]:
    """argnums as they are kept; TypeError if they name no argument."""
    found = argnums if isinstance(argnums, int | str) else tuple(argnums)
    if found == ():
        raise SpecError("argnums names no argument to differentiate in")
    return found


def some(transform: str, primals: tuple[Any, ...]) -> None:
    """TypeError if there is no argument in which anything could be differentiated."""
    if not primals:
        raise SpecError(f"hovis.{transform} takes the arguments of the function, and got none")


def jacfwd(fn: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The Jacobian of a function of arrays, column by column (forward mode): of each array of the result by each array of the arguments.

    >>> jacfwd(lambda x: x * x)(3.0)
    6.0
    """
    return Jacobian(fn, argnums, has_aux, True)


def jacrev(fn: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The Jacobian of a function of arrays, row by row (reverse mode).

    >>> jacrev(lambda x: x * x)(3.0)
    6.0
    """
    return Jacobian(fn, argnums, has_aux, False)


def hessian(fn: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The second derivatives of a function whose result is a real number: the Jacobian of its gradient.

    >>> hessian(lambda x: x * x * x)(2.0)
    12.0
    """
    return jacfwd(grad(fn, argnums), argnums)


# ------------------------------------------------------------------------------------------------- the callables


class Transformed(Wrapper, Following):
    """A function that was made of another one.

    ``derived(args, kwargs)`` says what a call gives, in Python that is traced through.  It does so by ``of``, if there is one:
    ``how`` is all that was chosen and is known, ``data`` what else it was made of.
    """

    __slots__ = ("__dict__", "__weakref__", "_eager", "data", "fn", "how")

    #: by what name users know what has made it
    called = "derived"
    by_itself = False
    #: where it is traced, ``*args`` and ``**kwargs`` are what there are specs for
    takes_no_more = True

    def __init__(self, fn: Any, how: tuple[Any, ...] = (), data: tuple[Any, ...] = ()) -> None:
        self.fn, self.how, self.data = fn, how, data
        self._eager: Any = None

    def derived(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call with these arguments gives."""
        return type(self).of(self.how, self.fn, self.data, args, kwargs)

    #: the same for functions that are made again, with what they close over (see Eager)
    of: Any = None

    def carried_out(self, eager: "Eager", args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call gives where nothing is traced, by its residual."""
        return eager(*args, **kwargs)

    def eager(self) -> Callable[..., Any]:
        """What does its calls where nothing is traced."""

        def of(how: Any, fn: Any, data: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return self.derived(args, kwargs)

        return functools.partial(Eager(of, (), self.fn, False), (), ())

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return applied(self, args, kwargs)

    def is_told(self, is_known: Callable[[Any], bool]) -> bool:
        return _is_told(self.how, is_known) and _is_made(self.fn, is_known)

    @property
    def naming(self) -> str:
        return f"{self.called}({{}})"

    def made_again(self, name: str) -> Any:
        return _again, (type(self), self.fn, self.how, self.data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.fn!r}>"


def _is_told(chosen: Any, is_known: Callable[[Any], bool]) -> bool:
    """Is what was chosen, down to all of its parts?"""
    return all(_is_told(x, is_known) for x in chosen) if type(chosen) is tuple else type(chosen) in ATOMS or is_known(chosen)


def _is_made(fn: Any, is_known: Callable[[Any], bool]) -> bool:
    """Is a function told from others, or all that it is made of?"""
    bound = bound_parts(fn)
    if bound is not None:
        return _is_made(next(iter(bound.values())), is_known)
    return is_known(fn) or (isinstance(fn, Transformed) and fn.is_told(is_known))


def _again(kind: type[Transformed], fn: Any, how: tuple[Any, ...], data: tuple[Any, ...]) -> Transformed:
    """One that is unpickled."""
    made = kind.__new__(kind)
    Transformed.__init__(made, fn, how, data)
    take_names(made, fn)
    return made


class Gradient(Transformed):
    """See :func:`grad` and :func:`value_and_grad`."""

    __slots__ = ()

    def __init__(self, fn: Any, argnums: Argnums, has_aux: bool, with_value: bool) -> None:
        if not callable(fn):
            raise SpecError(f"hovis.grad takes a callable, not {type(fn).__name__}")
        super().__init__(fn, (_named(argnums), has_aux, with_value))
        take_names(self, fn)

    @property
    def naming(self) -> str:
        return "value_and_grad({})" if self.how[2] else "grad({})"

    @staticmethod
    def of(how: Any, fn: Any, data: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        argnums, has_aux, with_value = how
        wanted = Wanted(fn, args, kwargs, argnums)

        def flat(*leaves: Any) -> Any:
            result, left = wanted.called(leaves)
            if has_aux:
                value, aux = result
                return real_scalar(value, fn), aux, left
            return real_scalar(result, fn), None, left

        value, aux, left, *found = through("reverse", (1,), flat, tuple(wanted.leaves), ())
        wanted.leave(left)
        gradient = wanted.rebuilt(found)
        if with_value:
            return ((value, aux) if has_aux else value), gradient
        return (gradient, aux) if has_aux else gradient


class Push(Transformed):
    """See :func:`jvp`."""

    __slots__ = ()
    called = "jvp"

    def __init__(self, fn: Any, has_aux: bool) -> None:
        super().__init__(fn, (has_aux,))

    @staticmethod
    def of(how: Any, fn: Any, data: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        primals, tangents = args
        wanted = Wanted(fn, primals, kwargs, tuple(range(len(primals))))
        result, aux, change, left = pushed(wanted, wanted.alike(tangents), how[0])
        wanted.leave(left)
        return (result, change, aux) if how[0] else (result, change)


class Jacobian(Transformed):
    """See :func:`jacfwd` and :func:`jacrev`."""

    __slots__ = ()
    called = "jacobian"

    def __init__(self, fn: Any, argnums: Argnums, has_aux: bool, is_forward: bool) -> None:
        super().__init__(fn, (_named(argnums), has_aux, is_forward))
        take_names(self, fn)

    @staticmethod
    def of(how: Any, fn: Any, data: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        argnums, has_aux, is_forward = how
        wanted = Wanted(fn, args, kwargs, argnums)
        result = follow(fn, args, kwargs)
        value = result[0] if has_aux else result
        outputs: list[Any] = []
        tree = pytree.flatten(value, outputs)
        rows = (columns if is_forward else lines)(fn, wanted, args, kwargs, how, outputs)
        found = pytree.rebuilt(tree, [wanted.rebuilt(row) for row in rows])
        return (found, result[1]) if has_aux else found


def columns(fn: Any, wanted: "Wanted", args: tuple[Any, ...], kwargs: dict[str, Any], how: Any, outputs: list[Any]) -> list[list[Any]]:
    """The Jacobian, output by output and leaf by leaf: one push for each element of the leaves, those of a leaf together."""
    argnums, has_aux, _ = how
    found: list[list[Any]] = [[] for _ in outputs]
    for j, leaf in enumerate(wanted.leaves):

        def push(direction: Any, j: int = j) -> Any:
            mine = Wanted(fn, args, kwargs, argnums)
            tangents = [direction if k == j else unit(other, -1) for k, other in enumerate(mine.leaves)]
            leaves: list[Any] = []
            tree = pytree.flatten(pushed(mine, tangents, has_aux)[2], leaves)
            return tuple(leaves), tree

        pushes = in_all_directions(push, leaf)
        for o, output in enumerate(outputs):
            found[o].append(assembled(pushes, o, output, leaf, -1))
    return found


def lines(fn: Any, wanted: "Wanted", args: tuple[Any, ...], kwargs: dict[str, Any], how: Any, outputs: list[Any]) -> list[list[Any]]:
    """The same by pulls, one for each element of the outputs."""
    argnums, has_aux, _ = how
    others = tuple(outputs)
    found = []
    for o, output in enumerate(outputs):

        def pull(direction: Any, o: int = o) -> Any:
            mine = Wanted(fn, args, kwargs, argnums)

            def flat(*leaves: Any) -> Any:
                result = follow(fn, *mine.arguments(leaves))
                held: list[Any] = []
                pytree.flatten(result[0] if has_aux else result, held)
                return tuple(held)

            seeds = [direction if k == o else unit(other, -1) for k, other in enumerate(others)]
            return through("reverse", (len(others), True), flat, tuple(mine.leaves), tuple(seeds))[len(others) :], None

        pulls = in_all_directions(pull, output)
        found.append([assembled(pulls, j, output, leaf, 0) for j, leaf in enumerate(wanted.leaves)])
    return found


def in_all_directions(way: Any, x: Any) -> Any:
    """The leaves that ``way(direction)[0]`` has for each element of x: of all together, or (a list) one after the other."""
    count = size_of(x)
    if is_array(x) and sized(x) and count > 1:
        together = through("directions", (count, True), way, (unit(x, -1),), (directions(x),))
        if together is not None:
            return together[0]
    found = []
    for e in range(count):
        found.append(way(unit(x, e))[0])
    return found


def pushed(wanted: "Wanted", tangents: Sequence[Any], has_aux: bool) -> tuple[Any, Any, Any, Any]:
    """The result, what comes with it, the tangent of the result, and what is left in the arguments."""

    def flat(*leaves: Any) -> Any:
        result, left = wanted.called(leaves)
        return (*result, left) if has_aux else (result, None, left)

    (result, aux, left), change = through("forward", (), flat, tuple(wanted.leaves), tuple(tangents))
    return result, aux, tangent(result) if change is None else change[0], left


class Wanted:
    """The arguments that something is differentiated in: trees, and of these the leaves that are real or complex."""

    def __init__(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], argnums: Argnums) -> None:
        self.fn = fn
        self.args = args
        self.kwargs = kwargs
        self.single = isinstance(argnums, int | str)
        self.places = tuple([place(fn, args, kwargs, k) for k in ((argnums,) if isinstance(argnums, int | str) else argnums)])
        self.all: list[Any] = []
        self.tree = pytree.flatten(self._at_places(args, kwargs), self.all)
        self.at = [k for k in range(len(self.all)) if changes(certain(self.all[k]))]
        self.leaves = [self.all[k] for k in self.at]
        if not self.leaves:
            raise TypeError(no_leaf(fn, self.places, self.all, self.names()))

    def names(self) -> list[str]:
        """How each leaf is written, those that are no numbers as well."""
        return named_leaves(self.fn, self.places, self.tree.children)

    def _at_places(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        return tuple([kwargs[k] if isinstance(k, str) else args[k] for k in self.places])

    def arguments(self, leaves: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """All arguments, with these leaves."""
        given = list(self.args)
        named = dict(self.kwargs)
        arguments = self._tree(leaves, self.all)
        for k in range(len(self.places)):
            at = self.places[k]
            if isinstance(at, str):
                named[at] = arguments[k]
            else:
                given[at] = arguments[k]
        return given, named

    def called(self, leaves: Sequence[Any]) -> tuple[Any, Any]:
        """What the function gives for these leaves, and what it leaves in the containers of the arguments (see ``leave``)."""
        given, named = self.arguments(leaves)
        inner = pytree.holders(self._at_places(given, named), self.tree)
        before = [pytree.contents(holder) for holder in inner]
        for k in range(len(inner)):
            watch(inner[k], k)
        result = follow(self.fn, given, named)
        left = [None if is_untouched(inner[k], k) else unless_same(pytree.contents(inner[k]), before[k], is_followed(inner[k])) for k in range(len(inner))]
        changed = [one is not None for one in left]
        return result, (inner, left) if any(changed) else None

    def leave(self, left: Any) -> None:
        """The containers of the arguments become what the function has made of those that stood for them."""
        if left is not None:
            own = pytree.holders(self._at_places(self.args, self.kwargs), self.tree)
            for k in range(len(own)):
                found = left[1][k]
                if found is not None:
                    pytree.refill(own[k], found[0], [instead(child, left[0], own) for child in found[1]])

    def alike(self, tangents: Any) -> list[Any]:
        """The tangents of the leaves, of trees like the arguments."""
        held: list[Any] = []
        pytree.flatten(tuple(tangents), held)
        if len(held) != len(self.all):
            raise TypeError(f"there are {len(held)} tangents for {len(self.all)} leaves of the arguments")
        found = []
        for k, (t, x) in enumerate(zip(held, self.all, strict=True)):
            if changes(x):
                found.append(follow(as_tangent, (t, x), {}))
                if shape_of(found[-1]) != shape_of(x):
                    raise TypeError(f"the tangent of {self.names()[k]}, whose shape is {shape_of(x)}, has the shape {shape_of(found[-1])}")
        return found

    def rebuilt(self, found: Sequence[Any]) -> Any:
        """Trees like the arguments, None where there is no number."""
        trees = self._tree(found, [None] * len(self.all))
        return trees[0] if self.single else trees

    def _tree(self, leaves: Sequence[Any], others: Sequence[Any]) -> Any:
        filled = list(others)
        for k in range(len(self.at)):
            filled[self.at[k]] = leaves[k]
        return pytree.rebuilt(self.tree, filled)


def unless_same(now: Any, before: Any, known: bool) -> Any:
    """What is in a container now; None if that is, for all that is known while tracing, what was there before."""
    if known and now[0] == before[0] and len(now[1]) == len(before[1]):
        still = [is_still(now[1][k], before[1][k]) for k in range(len(now[1]))]
        return None if all(still) else now
    return now


def instead(child: Any, inner: Sequence[Any], own: Sequence[Any]) -> Any:
    """A child of a container: if it is one of those that stood for the caller's own, that one."""
    if not isinstance(child, int | float | complex) and not is_array(child):
        for k in range(len(inner)):
            if child is inner[k]:
                return own[k]
    return child


def place(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], k: Argument) -> Argument:
    """Where an argument is: its position, or the name by which it was given."""
    if isinstance(k, str):
        if k in kwargs:
            return k
        at = parameters(fn).index(k) if k in parameters(fn) else len(args)
        if at < len(args):
            return at
        raise TypeError(f"{name_of(fn)} is to be differentiated in its argument {k}, and got none of that name")
    at = k + len(args) if k < 0 else k
    if 0 <= at < len(args):
        return at
    if at >= 0 and at < len(parameters(fn)) and parameters(fn)[at] in kwargs:
        return parameters(fn)[at]
    raise TypeError(f"{name_of(fn)} is to be differentiated in its argument {k}, and got {len(args)} by position")


def parameters(fn: Any) -> tuple[str, ...]:
    """The names of the parameters of fn that may be given by position, as far as they are known."""
    while isinstance(fn, Transformed):
        fn = fn.fn
    bound = 0
    if isinstance(fn, types.MethodType):
        fn, bound = fn.__func__, 1
    elif not isinstance(fn, types.FunctionType):
        fn, bound = type(fn).__call__ if callable(fn) else None, 1
    code = getattr(fn, "__code__", None)
    return tuple(code.co_varnames[bound : code.co_argcount]) if code else ()


def changes(leaf: Any) -> bool:
    """Is it a real or complex number, or an array of these?"""
    return leaf.dtype.kind in "fc" if is_array(leaf) else isinstance(leaf, float | complex)


def real_scalar(value: Any, fn: Any) -> Any:
    """The result of a function that has a gradient."""
    if is_array(value):
        if value.dtype.kind in "fiu" and shape_of(value) == ():
            return value
        raise TypeError(f"{name_of(fn)} has no gradient: its result is an array of {value.dtype} of shape {value.shape}, and would have to be one real number")
    if isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool)):
        return value  # an int depends on nothing: its gradient is zero
    raise TypeError(f"{name_of(fn)} has no gradient: its result is of the type {type(value).__name__}, and would have to be one real number")


def no_leaf(fn: Any, places: Sequence[Argument], leaves: Sequence[Any], names: Sequence[str]) -> str:
    """What to say where there is nothing to differentiate in."""
    kinds = [f"{name} is {kind_of(leaf)}" for name, leaf in zip(names, leaves, strict=True)]
    told = ", ".join(kinds[:MOST_TOLD] + ["…"] * (len(kinds) > MOST_TOLD))
    return f"{name_of(fn)} can't be differentiated in its argument {places[0]}: there is no real number in it{': ' * bool(told)}{told}"


#: Of so many leaves an error speaks.
MOST_TOLD: Final = 8


def kind_of(leaf: Any) -> str:
    """What a leaf is, in words."""
    return f"an array of {leaf.dtype}" if is_array(leaf) else f"of the type {type(leaf).__name__}"


def named_leaves(fn: Any, places: Sequence[Argument], trees: Sequence[Any]) -> list[str]:
    """How the leaves of these arguments are written, from the names of the parameters."""
    known = parameters(fn)
    found: list[str] = []
    for k, tree in zip(places, trees, strict=True):
        name = k if isinstance(k, str) else known[k] if k < len(known) else f"args[{k}]"
        found += pytree.paths(tree, name)
    return found


def name_of(fn: Any) -> str:
    """What a function is called, and where it stands."""
    code = getattr(fn, "__code__", None)
    name = getattr(fn, "__qualname__", None) or type(fn).__qualname__
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code else str(name)


# ------------------------------------------------------------------------------------------------- applying


def applied(transformed: Transformed, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a call gives: here by residual Python, in a trace and for what is recorded by what ``derived`` says."""
    if is_recorded(args, kwargs, transformed.data):
        return transformed.derived(args, kwargs)
    if transformed.of is None:
        eager = transformed._eager
        if eager is None:
            eager = transformed._eager = transformed.eager()
        return eager(*args, **kwargs)
    fn = transformed.fn
    held = closed_over(fn)
    key = type(transformed), transformed.how, _known_as(fn) if held is None else (Held(fn.__code__), Held(fn.__globals__), Held(fn.__defaults__ or None))
    eager = _eager.get(key)
    if eager is None:
        with COMPILER:
            while len(_eager) >= KEPT:
                del _eager[next(iter(_eager))]
            stays = fn.calls_alike() if is_alike(fn) else fn
            eager = _eager.setdefault(key, Eager(type(transformed).of, transformed.how, stays, held is not None))
    return transformed.carried_out(eager, (held or (), transformed.data, *args), kwargs)


def _known_as(fn: Any) -> Any:
    """The key of a function: what was made of the same in the same way, and goes by the same name, is the same."""
    if is_alike(fn):
        return Alike(fn)
    if isinstance(fn, Transformed) and not fn.data and _is_told(fn.how, _is_nothing):
        return type(fn), fn.how, getattr(fn, "__qualname__", None), Held(fn.fn) if is_alike(fn.fn) else _known_as(fn.fn)
    return Held(fn)


def _is_nothing(value: Any) -> bool:
    return False


#: Functions whose residuals are kept.
KEPT: Final = 512
_eager: dict[Any, "Eager"] = {}


def closed_over(fn: Any) -> tuple[Any, ...] | None:
    """What a function closes over; None if that is not for it alone to read."""
    if type(fn) is not types.FunctionType or fn.__kwdefaults__ or fn.__dict__ or _rebinds(fn.__code__):
        return None
    try:
        held = tuple([cell.cell_contents for cell in fn.__closure__ or ()])
    except ValueError:
        return None
    # a residual's mark for what has no value would be none, where it is a value
    return None if any(value is UNBOUND for value in held) else held


def _rebinds(code: types.CodeType) -> bool:
    """Does it, or a function in it, bind a variable of an enclosing function anew?"""
    if any(i.opname in ("STORE_DEREF", "DELETE_DEREF") and i.argval in code.co_freevars for i in dis.get_instructions(code)):
        return True
    return any(_rebinds(inner) for inner in code.co_consts if isinstance(inner, types.CodeType))


class Eager(Jitted):
    """Residual Python of a transformed function, kept by what its arguments are, down to their leaves.

    again: the function is made again with what it closes over, which is an argument like others; so one residual is for all
    functions that a piece of code makes.
    """

    has_plain = False

    def __init__(self, derived: Callable[..., Any], how: Any, fn: Any, again: bool) -> None:
        if again:
            code, namespace, name, qualname, defaults = fn.__code__, fn.__globals__, fn.__name__, fn.__qualname__, fn.__defaults__

            def call(held: Any, data: Any, /, *args: Any, **kwargs: Any) -> Any:
                made = make_function(code, namespace, name, qualname, defaults, None, (), *[make_cell(x) for x in held])
                return derived(how, made, data, args, kwargs)
        else:

            def call(held: Any, data: Any, /, *args: Any, **kwargs: Any) -> Any:
                return derived(how, fn, data, args, kwargs)

        EAGER.add(call.__code__)
        super().__init__(call, (), tracing.Options(frozen=False))

    def traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tracing.Trace | None:
        """The Trace of the residual that does calls with arguments like these."""
        variant = self._variants.get(self._key(args, kwargs))
        return None if variant is None else variant.trace

    def _looked_at(self, args: tuple[Any, ...], kwargs: dict[str, Any], part: int) -> tuple[list[Any], dict[str, Any]]:
        """Of each argument its part of the key (0) or its spec (1)."""
        held = [_captured(x, (0, k), self._policy)[part] for k, x in enumerate(args[0])]
        found = [tuple(held), *[looked_at(a, (k,), self._policy)[part] for k, a in enumerate(args[1:], 1)]]
        return found, {name: looked_at(v, (name,), self._policy)[part] for name, v in kwargs.items()}

    def _key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Key:
        found, named = self._looked_at(args, kwargs, 0)
        return Key((*found, *named.items()))

    def _specs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        return self._looked_at(args, kwargs, 1)

    def _widen(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._count_numbers(args, kwargs)


def _captured(value: Any, path: Any, policy: Any) -> tuple[Any, Any]:
    """As an argument; what nothing would be known of is known."""
    key, spec = looked_at(value, path, policy)
    return (key, spec) if (is_spec(spec) and spec is not Unknown) or isinstance(spec, Const) else (("value", Held(value)), Const(value))


def here(transformed: Transformed, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a call gives in a trace."""
    return transformed.derived(args, kwargs)


def _applied(m: Machine, args: list[Any], named: dict[str, Any]) -> Any:
    transformed, given, keywords = args
    cls = m.class_of(m.resolve(transformed))
    if cls is None or isinstance(given, Dyn) or isinstance(keywords, Dyn):
        return None
    if cls.derived.__code__ in m.tables.not_entered:  # type: ignore[attr-defined]
        return finish(m, opaque(m, applied, args), "value")
    return call_function(m, Known(here), here, args, {})


STANDARD.actions[applied] = _applied
STANDARD.actions[take_names] = lambda m, args, named: Known(None)
APPLYING.add(Transformed.derived.__code__)
FOLLOWING.update((applied, Transformed.__call__))
LEAVABLE.add(Transformed.__call__.__code__)
