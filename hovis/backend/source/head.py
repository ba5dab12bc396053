"""The head of a residual as text: its parameters, the checks of its arguments, and the statements that take them apart.

It is the counterpart, as readable source, of the prologue of ops that ``entry`` builds.
"""

import ast
import inspect
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol

from hovis.arguments.signature import Signature
from hovis.backend.entry.alias_checks import stands_apart
from hovis.backend.entry.prologue import exact_classes, leaf_check, parts_of, taker
from hovis.backend.source import syntax
from hovis.engine.state.type_lookup import has_dict, slots_of
from hovis.engine.trace import Fixed, Fresh, Leaf, Part, Structure
from hovis.ir.model import Function, Param
from hovis.ir.naming import identifier, is_name
from hovis.lattice import Array, Const, Items, Refined, Type, Union
from hovis.lattice.constants import same_constant


class Named(Protocol):
    """Gives the expression for a known object; original is the name of the function that answers calls that do not fit, variables are names that
    no object may have.
    """

    original: str
    variables: set[str]

    def __call__(self, value: object) -> ast.expr: ...


#: Classes whose constants are interchangeable if type and value are equal.
_PLAIN: Final = (str, int, bytes, bool)


class Arrival:
    """Writes the head of the residual of fn. A call that does not fit is answered by the original, see ``_original``."""

    def __init__(self, fn: Any, signature: Signature, static: tuple[object, ...], named: Named, checked: bool = True) -> None:
        self.fn, self.signature, self.static, self.named, self.checked = fn, signature, static, named, checked
        #: number of containers around the one whose items are being checked
        self.depth = 0
        #: the arguments' names in the text: those of the function, unless these are not identifiers
        self.called: dict[int, str] = {}
        for u in signature.unknown:
            self.called[id(u)] = _apart(identifier(u.name), set(self.called.values()))
        named.variables |= set(self.called.values())
        for u in signature.unknown:
            _name_params(u.part, self.called[id(u)], set(self.called.values()))

    # --------------------------------------------------------------------------------------------- parameters

    def parameters(self) -> ast.arguments:
        """Return the parameters, with the kinds and the defaults that they have in the original."""
        kind = inspect.Parameter
        kinds = kind.POSITIONAL_ONLY, kind.POSITIONAL_OR_KEYWORD, kind.KEYWORD_ONLY, kind.VAR_POSITIONAL, kind.VAR_KEYWORD
        of_kind: dict[Any, list[ast.arg]] = {one: [] for one in kinds}
        defaults: list[ast.expr] = []
        by_name: list[ast.expr | None] = []
        for u in self.signature.unknown:
            of_kind[u.kind].append(ast.arg(self.called[id(u)]))
            default = None if u.default is kind.empty else self.named(u.default)
            if u.kind is kind.KEYWORD_ONLY:
                by_name.append(default)
            elif default is not None:
                defaults.append(default)
            elif u.kind in (kind.POSITIONAL_ONLY, kind.POSITIONAL_OR_KEYWORD):
                defaults.clear()
        before, plain, names, star, double = of_kind.values()
        return ast.arguments(before, plain, star[0] if star else None, names, by_name, double[0] if double else None, defaults)

    # --------------------------------------------------------------------------------------------- checks

    def head(self, function: Function, name_of: Callable[[Param], str]) -> list[ast.stmt]:
        """Return the statements before the body of function, whose params are the parts that it needs."""
        checks: list[ast.expr] = []
        takes: list[ast.stmt] = []
        wanted = {id(p): name_of(p) for p in function.params}
        for u in self.signature.unknown:
            shown = ast.Name(self.called[id(u)], ast.Load())
            checks += [ast.Compare(ast.Constant(name), [ast.NotIn()], [shown]) for name in u.taken]
            if u.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
                continue
            checks += self._checks(u.part, shown)
            takes += [
                ast.Assign([ast.Name(wanted[id(param)], ast.Store())], place)
                for param, place in self._places(u.part, shown)
                if id(param) in wanted and not (isinstance(place, ast.Name) and place.id == wanted[id(param)])
            ]
        checks += self._apart(function)
        if not checks or not self.checked:
            return takes
        fits = checks[0] if len(checks) == 1 else ast.BoolOp(ast.And(), checks)
        return [ast.If(syntax.negated(fits), [ast.Return(self._original())], []), *takes]

    def _checks(self, part: Part, shown: ast.expr) -> Iterator[ast.expr]:
        if isinstance(part, Leaf):
            yield from self._leaf(part, shown)
        elif isinstance(part, Fixed):
            yield from self._fixed(part, shown)
        elif isinstance(part, Structure):
            if part.kind == "dict" and not all(type(k) is str for k in part.keys):
                yield ast.Compare(ast.Call(self.named(taker(part)), [shown], []), [ast.IsNot()], [ast.Constant(None)])
                return
            yield self._is(shown, part.cls)
            yield from self._shape(part, shown)
            for place, inner in self._inner(part, shown):
                yield from self._checks(inner, place)

    def _leaf(self, part: Leaf, shown: ast.expr) -> Iterator[ast.expr]:
        kind = part.param.type
        check = leaf_check(part)
        if check is None:
            return
        if isinstance(kind, Type) and not part.choices and not isinstance(kind, Array | Refined):
            yield self._is(shown, kind.cls)
        elif isinstance(kind, Array) and not part.choices:
            yield from self._array(part, kind, shown)
        elif isinstance(kind, Union) and not part.choices:
            yield self._one_of(kind, shown)
        elif part.choices:
            yield self._chosen(part.choices, shown)
        elif isinstance(kind, Items):
            yield from self._items(kind, shown)
        else:
            yield ast.Call(self.named(check), [shown], [])

    def _items(self, kind: Items, shown: ast.expr) -> Iterator[ast.expr]:
        """Yield the checks of a container's class, and of the classes of its items."""
        yield self._is(shown, kind.cls)
        if kind.is_untested():
            return
        values = shown if kind.keys is None else ast.Call(ast.Attribute(shown, "values", ast.Load()), [], [])
        for held, classes in ((values, kind.items), *([(shown, kind.keys)] if kind.keys is not None else [])):
            if isinstance(classes, Items):
                item = f"_item_{self.depth}"
                self.depth += 1
                inside = _all_of(list(self._items(classes, ast.Name(item, ast.Load()))))
                self.depth -= 1
                each = ast.GeneratorExp(inside, [ast.comprehension(ast.Name(item, ast.Store()), held, [], 0)])
                yield ast.Call(self.named(all), [each], [])
                continue
            known = ast.Set([self.named(cls) for cls in sorted(Items.classes(classes), key=lambda cls: cls.__qualname__)])
            yield ast.Call(ast.Attribute(known, "issuperset", ast.Load()), [ast.Call(self.named(map), [self.named(type), held], [])], [])

    def _chosen(self, choices: tuple[object, ...], shown: ast.expr) -> ast.expr:
        """Return the check that a value is one of choices; those of a plain class are checked together."""
        classes = {type(choice): [one for one in choices if type(one) is type(choice)] for choice in choices}
        ways: list[list[ast.expr]] = []
        for cls, values in classes.items():
            if cls in _PLAIN and all(syntax.literal(value) is not None for value in values):
                ways.append([self._is(shown, cls), ast.Compare(shown, [ast.In()], [ast.Tuple([self.named(value) for value in values], ast.Load())])])
            else:
                ways += [list(self._fixed(Fixed(value), shown)) for value in values]
        return _any_of([_all_of(way) for way in ways])

    def _one_of(self, kind: Union, shown: ast.expr) -> ast.expr:
        """Return the check that a value is of one of the kinds in a Union: by its class where that is enough."""
        classes = [self.named(cls) for cls in exact_classes(kind)]
        ways: list[ast.expr] = []
        if classes:
            ways.append(ast.Compare(self._type(shown), [ast.In()], [ast.Tuple(sorted(classes, key=ast.dump), ast.Load())]))
        for member in sorted((m for m in kind.members if type(m) is not Type and not (isinstance(m, Items) and m.is_untested())), key=repr):
            ways.append(_all_of(list(self._leaf(Leaf(Param(member)), shown))))
        return _any_of(ways)

    def _array(self, part: Leaf, kind: Array, shown: ast.expr) -> Iterator[ast.expr]:
        """Yield the checks of an array's class, its dtype, the known part of its shape, and its layout."""

        def of(name: str) -> ast.expr:
            return ast.Attribute(shown, name, ast.Load())

        dtype: Any = kind.dtype
        yield self._is(shown, kind.cls)
        yield ast.Compare(of("dtype"), [ast.Eq()], [self.named(dtype.type if dtype.isnative and type(dtype)() == dtype else dtype)])
        sizes = [d.value if isinstance(d, Const) else None for d in part.param.dims or (None,) * (kind.rank or 0)]
        if None not in sizes:
            yield ast.Compare(of("shape"), [ast.Eq()], [self.named(tuple(sizes))])
        else:
            yield ast.Compare(of("ndim"), [ast.Eq()], [self.named(kind.rank)])
            for k, size in enumerate(sizes):
                if size is not None:
                    yield ast.Compare(ast.Subscript(of("shape"), ast.Constant(k), ast.Load()), [ast.Eq()], [self.named(size)])
        if kind.layout:
            yield ast.Subscript(of("flags"), ast.Constant(f"{kind.layout}_CONTIGUOUS"), ast.Load())

    def _fixed(self, part: Fixed, shown: ast.expr) -> Iterator[ast.expr]:
        value = part.value
        if value is None or value is True or value is False:
            yield ast.Compare(shown, [ast.Is()], [ast.Constant(value)])
        elif type(value) in _PLAIN and syntax.literal(value) is not None:
            yield self._is(shown, type(value))
            yield ast.Compare(shown, [ast.Eq()], [self.named(value)])
        elif type(value) in (float, complex) and value == value:
            yield self._is(shown, type(value))
            # the repr distinguishes 0.0 from -0.0
            yield ast.Compare(ast.Call(self.named(repr), [shown], []), [ast.Eq()], [ast.Constant(repr(value))])
        elif isinstance(value, float | complex | tuple | frozenset):
            yield ast.Call(self.named(same_constant), [shown, self.named(value)], [])
        else:
            yield ast.Compare(shown, [ast.Is()], [self.named(value)])

    def _shape(self, part: Structure, shown: ast.expr) -> Iterator[ast.expr]:
        if part.kind == "dict":
            keys = ast.List([ast.Constant(k) for k in part.keys], ast.Load())
            yield ast.Compare(ast.Call(self.named(list), [shown], []), [ast.Eq()], [keys])
        elif part.kind != "instance":
            yield ast.Compare(ast.Call(self.named(len), [shown], []), [ast.Eq()], [ast.Constant(len(part.parts))])
        else:
            yield from self._attributes(part, shown)

    def _attributes(self, part: Structure, shown: ast.expr) -> Iterator[ast.expr]:
        """Yield the checks that an instance has exactly these attributes, in slots and in its dictionary."""
        slots = slots_of(part.cls)
        named = [k for k in part.keys if k not in (slots or ())]
        if slots is None or (named and not has_dict(part.cls)):
            yield ast.Constant(False)
            return
        if has_dict(part.cls):
            names = ast.List([ast.Constant(k) for k in named], ast.Load())
            attributes = ast.Attribute(shown, "__dict__", ast.Load())
            yield ast.Compare(ast.Call(self.named(list), [attributes], []), [ast.Eq()], [names])
        for name in slots:
            there = ast.Call(self.named(hasattr), [shown, ast.Constant(name)], [])
            yield there if name in part.keys else ast.UnaryOp(ast.Not(), there)

    def _inner(self, part: Structure, shown: ast.expr) -> Iterator[tuple[ast.expr, Part]]:
        for k, inner in enumerate(part.parts):
            if part.kind == "instance":
                yield self._attribute(shown, part.cls, part.keys[k]), inner
            else:
                yield ast.Subscript(shown, self.named(part.keys[k] if part.kind == "dict" else k), ast.Load()), inner

    def _attribute(self, shown: ast.expr, cls: type, name: str) -> ast.expr:
        """Return the expression that reads this attribute of an instance, bypassing a property of the same name."""
        slot = name in (slots_of(cls) or ())
        if syntax.is_attribute(name) and (slot or not hasattr(type(inspect.getattr_static(cls, name, None)), "__set__")):
            return ast.Attribute(shown, name, ast.Load())
        if slot:
            return ast.Call(self.named(getattr), [shown, ast.Constant(name)], [])
        return ast.Subscript(ast.Attribute(shown, "__dict__", ast.Load()), ast.Constant(name), ast.Load())

    def _places(self, part: Part, shown: ast.expr) -> Iterator[tuple[Param, ast.expr]]:
        """Yield each unknown part with the expression that reads it."""
        if isinstance(part, Leaf | Structure):
            yield part.param, shown
        if isinstance(part, Structure):
            for place, inner in self._inner(part, shown):
                yield from self._places(inner, place)

    def _apart(self, function: Function) -> Iterator[ast.expr]:
        """Yield the alias checks: an argument that is a known object could be written to under that other name."""
        values = {id(param): shown for u in self.signature.unknown for param, shown in self._places(u.part, ast.Name(self.called[id(u)], ast.Load()))}
        for apart, param in stands_apart(parts_of(self.signature), function, self.static):
            if id(param) in values:
                yield ast.Call(self.named(apart), [values[id(param)]], [])

    def _type(self, shown: ast.expr) -> ast.expr:
        return ast.Call(self.named(type), [shown], [])

    def _is(self, shown: ast.expr, cls: type) -> ast.expr:
        return ast.Compare(self._type(shown), [ast.Is()], [self.named(cls)])

    # --------------------------------------------------------------------------------------------- the original

    def _original(self) -> ast.expr:
        """Return the call of the original with all of its arguments."""
        names = {id(u.part): self.called[id(u)] for u in self.signature.unknown}

        def shown(part: Part) -> ast.expr:
            return self.named(part.value) if isinstance(part, Fixed) else ast.Name(names[id(part)], ast.Load())

        signature = self.signature
        args = [shown(p) for p in signature.positional]
        if signature.star:
            args.append(ast.Starred(shown(signature.star), ast.Load()))
        keywords = [ast.keyword(k, shown(p)) for k, p in signature.keywords.items() if is_name(k)]
        others = {k: p for k, p in signature.keywords.items() if not is_name(k)}
        if others:
            keywords.append(ast.keyword(None, ast.Dict([ast.Constant(k) for k in others], [shown(p) for p in others.values()])))
        if signature.double_star:
            keywords.append(ast.keyword(None, shown(signature.double_star)))
        target = getattr(self.fn, "__func__", self.fn) if signature.bound else self.fn
        if signature.bound and not hasattr(self.fn, "__func__"):
            target = type(self.fn).__call__
        original = self.named(target)
        if isinstance(original, ast.Name):
            self.named.original = original.id
        return ast.Call(original, args, keywords)


def _all_of(tests: list[ast.expr]) -> ast.expr:
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)


def _any_of(tests: list[ast.expr]) -> ast.expr:
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), tests)


def _apart(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _name_params(part: Part, name: str, taken: set[str]) -> None:
    """Name the parts after the argument that contains them, with names that no argument has."""
    if isinstance(part, Leaf | Structure):
        part.param.name = name
    if isinstance(part, Structure | Fresh):
        for k, inner in enumerate(part.parts):
            key = part.keys[k] if part.keys else k
            _name_params(inner, _apart(identifier(f"{name}_{key if isinstance(key, str | int) else k}"), taken), taken)


__all__ = ["Arrival", "Const"]
