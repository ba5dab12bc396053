"""Writing a Function as the text of a Python function.

``structure`` determines the nesting of statements, ``variables`` which values have a name, ``expressions`` how an op is
written.  This module combines them: a jump becomes fallthrough, ``break`` or ``continue`` where that leads to the
same place, and otherwise sets a variable that selects the place to continue at.
"""

import ast
import builtins
import itertools
import linecache
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from hovis.backend.polish.temporaries import renumbered
from hovis.backend.polish.tidy import tidy_function
from hovis.backend.source import expressions, op_statements
from hovis.backend.source.control_flow.statements import WAY, Jumps, Simplifier
from hovis.backend.source.control_flow.structure import structured
from hovis.backend.source.head import Arrival
from hovis.backend.source.legalize import caught_places, error_edges, handling_again, raise_as_it_is
from hovis.backend.source.naming import Variables
from hovis.backend.source.object_names import Names
from hovis.backend.source.outline_nested import outline
from hovis.backend.source.syntax import mark, put_names
from hovis.base.warning_filters import warnings_are
from hovis.ir import operations as ops
from hovis.ir.model import CAUGHT, Block, Caught, Edge, Function, Invoke, Op, Operand, Raise, Return, callees
from hovis.lattice import Const
from hovis.passes.rewriting import copy


class Source:
    """The text of a function called ``name``, and the objects that the names in it stand for where these are not imports.

    definitions   the functions alone
    imports       name → the module and the name imported from it (None for the module itself)
    given         name → the object that has to be supplied
    original      the name of the function that answers calls that do not fit, if the text does nothing else with it
    builtins      name → the builtin that the text means by it
    """

    def __init__(self, name: str, definitions: str, names: "Names", mentioned: Iterable[str], original: str | None = None) -> None:
        self.name = name
        self.definitions = definitions
        self.imports = dict(names.imports)
        self.given = dict(names.given)
        self.builtins = {name: vars(builtins)[name] for name in mentioned if name in vars(builtins)}
        self.original = original
        self.text = names.header() + definitions

    def load(self) -> Any:
        """Compile the text and return the function; a traceback out of it shows the text's lines.

        Its builtins are those at the time of the trace, even if they have been replaced since, or are replaced later.
        """
        file = f"<source of {self.name} {next(_loaded)}>"
        linecache.cache[file] = len(self.text), None, self.text.splitlines(keepends=True), file
        scope: dict[str, Any] = {**self.given, "__builtins__": {**vars(builtins), **self.builtins}}
        with warnings_are("ignore"):  # folded code may look like a mistake to the compiler: ``None[0]``
            code = compile(self.text, file, "exec")
        exec(code, scope)
        return scope[self.name]


_loaded = itertools.count(1)


def render(function: Function, namespace: Mapping[str, object], arrival: "Callable[[Names], Arrival] | None" = None) -> Source:
    """Write the text of function and of the residual functions that it calls; known objects are named as in namespace.

    ``arrival`` builds the head of function; without it, function takes its parameters unchecked.
    """
    functions = callees(function)
    names = Names(namespace, functions)
    head = arrival(names) if arrival is not None else None
    writers = [_Writer(copy_alone(one), names) for one in functions]
    for writer in writers:
        names.variables |= {*writer.variables.names.values(), WAY}
    definitions = [writer.definition(names.function(one), head if one is function else None) for one, writer in zip(functions, writers, strict=True)]
    texts = [ast.unparse(ast.fix_missing_locations(definition)) for definition in reversed(definitions)]
    used = Counter(item.id for definition in definitions for item in ast.walk(definition) if isinstance(item, ast.Name))
    names.keep(set(used))
    original = names.original if used[names.original] == 1 else None
    return Source(names.function(function), "\n\n\n".join(texts) + "\n", names, used, original)


def copy_alone(function: Function) -> Function:
    """Copy function without its callees: the copy calls the original Functions (and function itself where it is recursive)."""
    others = [one for one in callees(function) if one is not function]
    made = copy(function)
    back = dict(zip(callees(made)[1:], others, strict=True))
    for op in made.ops():
        if isinstance(op.callee, Function):
            op.callee = function if op.callee is made else back.get(op.callee, op.callee)
    return made


class _Writer:
    """Writes the statements of one Function."""

    def __init__(self, function: Function, names: Names) -> None:
        self.function = function
        self.names = names
        self.tree = structured(function)
        self.variables = Variables(function, names.reserved)
        #: the blocks behind calls that always raise
        self.nowhere = {b.terminator.ok.block for b in function.blocks if isinstance(b.terminator, Invoke) and b.terminator.op.callee in _RAISING}
        #: landing → its param that holds the exception that the except clause caught
        self.caught = {edge.block: edge.block.params[k] for _, edge in error_edges(function) for k in caught_places(edge)}
        #: the landings of the except clauses around the code being written
        self.handled: list[Block] = []
        self._own: dict[str, str] = {}

    def definition(self, name: str, arrival: Arrival | None) -> ast.FunctionDef:
        parameters = [ast.arg(self.variables.name(p)) for p in self.function.params]
        body = tidy_function(Jumps(self).lower(Simplifier(self).tree(self.tree)))
        while body and isinstance(body[-1], ast.Return) and (body[-1].value is None or _is_none(body[-1].value)) and len(body) > 1:
            body.pop()
        if self.function.is_generator and not any(isinstance(node, ast.Yield | ast.YieldFrom) for part in body for node in ast.walk(part)):
            body += [ast.Return(None), ast.Expr(ast.Yield(None))]
        put_names(body, self.names.place)
        kept = {self.variables.name(p) for p in self.function.params} | set(self.names.taken)
        body = renumbered(body, kept)
        body = outline(body, {self.variables.name(p) for p in self.function.params}, self.own_name)
        if arrival is not None:
            body = [*arrival.head(self.function, self.variables.name), *body]
            return _function_def(name, arrival.parameters(), body or [ast.Pass()])
        arguments = ast.arguments([], parameters, None, [], [], None, [])
        return _function_def(name, arguments, body or [ast.Pass()])

    def own_name(self, wanted: str) -> str:
        """Return the name of a variable that holds no value of the Function; the same name for each call with the same wanted name."""
        found = self._own.get(wanted)
        if found is None:
            taken = {*self.variables.names.values(), *self._own.values()}
            found = next(n for n in itertools.chain([wanted], (f"{wanted}_{k}" for k in itertools.count(2))) if n not in taken and not self.names.reserved(n))
            self._own[wanted] = found
            self.names.variables.add(found)
        return found

    def error_name(self, landing: Block) -> str | None:
        """Return the variable for the exception caught by the except clause at landing, or None if nothing reads it."""
        param = self.caught.get(landing)
        return self.variables.name(param) if param is not None and self.variables.uses.get(param) else None

    # --------------------------------------------------------------------------------------------- operands and ops

    def write(self, operand: Operand) -> ast.expr:
        if isinstance(operand, Const):
            return self.names(operand.value)
        assert not isinstance(operand, Caught)
        if isinstance(operand, Op) and operand in self.variables.nested:
            return self.expression(operand)
        return _name(self.variables.name(operand))

    def expression(self, op: Op) -> ast.expr:
        return expressions.expression(op, self.write, self.names)

    def body(self, block: Block) -> list[ast.stmt]:
        """Return the statements of a block. If it ends with an Invoke, these include the assignments to the params of its handler, followed by
        the call.
        """
        found: list[ast.stmt] = []
        for op in self.variables.statements(block):
            found += self.statement(op)
        if isinstance(block.terminator, Invoke):
            found += self.moves(block.terminator.error)
            found += self.statement(block.terminator.op)
        return found

    def statement(self, op: Op) -> list[ast.stmt]:
        target = self.variables.name(op) if self.variables.uses.get(op) else None
        if op.callee is ops.drop and op.args[0] in self.variables.nested:
            return [ast.Expr(self.write(op.args[0]))]  # no variable holds the value: it is released at the end of the statement
        if op.callee is ops.drop and (op not in self.variables.last or op in self.variables.unsaid):
            return []
        if op.callee is handling_again:
            return [ast.Raise(self.write(op.args[0]), None)]
        found = op_statements.statement(op, target, self.write, self.names, lambda v: not isinstance(v, Const))
        if op.callee is ops.poll:
            mark(found[0], "poll")
        return found

    def condition(self, cond: Operand) -> ast.expr:
        """Return the expression for an exact bool that is used only as a condition."""
        while isinstance(cond, Op) and cond in self.variables.nested and cond.callee is bool and len(cond.args) == 1:
            cond = cond.args[0]
        if isinstance(cond, Op) and cond in self.variables.nested and cond.callee is operator.not_:
            return ast.UnaryOp(ast.Not(), self.condition(cond.args[0]))
        return self.write(cond)

    def moves(self, edge: Edge) -> list[ast.stmt]:
        """Return the assignments to the params of the edge's target, ordered to overwrite no value that is still to be read; a cycle becomes one
        tuple assignment.
        """
        waiting: list[tuple[str, ast.expr, Operand]] = []
        for param, arg in zip(edge.block.params, edge.args, strict=True):
            nothing = isinstance(arg, Const) and arg.value is ops.UNBOUND and param in self.variables.unread
            if arg is not CAUGHT and not nothing and not self.variables.same(param, arg) and self.variables.uses.get(param):
                waiting.append((self.variables.name(param), self.write(arg), arg))
        found: list[ast.stmt] = []
        while waiting:
            for k, (target, shown, arg) in enumerate(waiting):
                if not any(target in read_names(other) for j, (_, other, _) in enumerate(waiting) if j != k):
                    found.append(op_statements.assign(target, shown, arg))
                    del waiting[k]
                    break
            else:
                targets = ast.Tuple([_name(target, ast.Store()) for target, _, _ in waiting], ast.Store())
                found.append(ast.Assign([targets], ast.Tuple([shown for _, shown, _ in waiting], ast.Load())))
                waiting = []
        return found

    def end(self, block: Block) -> list[ast.stmt]:
        """Return the statements for the block's Return or Raise; none in a block behind a call that always raises."""
        end = block.terminator
        assert isinstance(end, Return | Raise)
        if block in self.nowhere:
            return []
        if isinstance(end, Return):
            return [ast.Return(self.write(end.value))]
        if end.again and self.handled and self.handled[-1].params[:1] == (end.value,):
            return [ast.Raise(None, None)]
        if end.again:
            return [ast.Expr(ast.Call(self.names(raise_as_it_is), [self.write(end.value)], []))]
        return [ast.Raise(self.write(end.value), None)]


#: Ops that always raise.
_RAISING: Final = (ops.raise_now, ops.raise_from, ops.raise_current, handling_again)


def read_names(tree: ast.AST) -> set[str]:
    """Return the names that an expression reads."""
    return {item.id for item in ast.walk(tree) if isinstance(item, ast.Name)}


def _name(name: str, context: ast.expr_context | None = None) -> ast.Name:
    return ast.Name(name, context or ast.Load())


def _is_none(shown: ast.expr) -> bool:
    return isinstance(shown, ast.Constant) and shown.value is None


def _function_def(name: str, arguments: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    made = ast.FunctionDef(name, arguments, body, [], None, None)
    made.type_params = []  # type: ignore[attr-defined]  # 3.12
    return made
