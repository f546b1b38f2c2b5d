"""Mutants: one module with one constant, operator or function of it changed."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

_BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
}
_COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_NAMES = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "argmin": "argmax",
    "argmax": "argmin",
    "floor": "ceil",
    "ceil": "floor",
    "log": "log1p",
    "log1p": "log",
    "exp": "expm1",
    "sqrt": "abs",
    "any": "all",
    "all": "any",
}
_MATH_ABS = "fabs"  # `math` has no abs
_SKIPPED = (ast.Raise, ast.Assert, ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Mutant:
    """One change of one module."""

    path: str
    owner: str  # the qualified name of the function or class; empty at the top of the module
    line: int
    statement: str  # the statement, or the head of one, before the change
    change: str
    place: tuple[int, int]  # which node in the order of `ast.walk`, and which change of it

    @property
    def key(self) -> str:
        """What the mutant is called; it does not depend on line numbers."""
        return f"{self.path}::{self.owner}: {self.name}"

    @property
    def name(self) -> str:
        """The statement and its change."""
        return f"{self.statement} [{self.change}]"


def find_mutants(path: str, source: str, skipped: frozenset[str] = frozenset()) -> list[Mutant]:
    """All mutants of a module but those of the functions and constants ``skipped``."""
    tree, found = ast.parse(source), []
    numbers = {id(node): number for number, node in enumerate(ast.walk(tree))}
    times: Counter[str] = Counter()
    for node, owner, statement in _candidates(tree, "", ""):
        names = (
            {owner.split(".")[-1]} if owner else set(re.findall(r"\w+", statement.split("=")[0]))
        )
        if names & skipped:
            continue
        for which, (change, _) in enumerate(_changes(node)):
            one = Mutant(path, owner, _line(node), statement, change, (numbers[id(node)], which))
            times[one.key] += 1
            if times[one.key] > 1:
                change = f"{change}, {times[one.key]}"
                one = Mutant(path, owner, one.line, statement, change, one.place)
            found.append(one)
    return found


def mutated(source: str, mutant: Mutant) -> ast.Module:
    """The module with the change of this mutant."""
    tree = ast.parse(source)
    number, which = mutant.place
    node = next(node for index, node in enumerate(ast.walk(tree)) if index == number)
    _, new = list(_changes(node))[which]
    for name, value in ast.iter_fields(new):
        setattr(node, name, value)
    return ast.fix_missing_locations(tree)


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


def _candidates(node: ast.AST, owner: str, statement: str) -> Iterator[tuple[ast.AST, str, str]]:
    """The nodes that may be changed, with their function and statement; no types, no messages."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, _SKIPPED):
                continue
            inner, text = owner, statement
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                inner = f"{owner}.{child.name}".lstrip(".")
                text = f"{child.name}()"
            elif isinstance(child, ast.stmt):
                text = _head(child)
            yield child, inner, text
            yield from _candidates(child, inner, text)


def _head(statement: ast.stmt) -> str:
    """A simple statement, or what stands before the colon of a compound one."""
    return ast.unparse(statement).splitlines()[0]


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The changed nodes in place of this one, each with its description."""
    match node:
        case ast.Constant(value=bool() as value):
            yield f"{value} -> {not value}", ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield f"{value} -> {value + 1}", ast.Constant(value + 1)
        case ast.Constant(value=float() as value):
            new = 1.5 * value or 1.0
            yield f"{value:g} -> {new:g}", ast.Constant(new)
        case ast.BinOp(left, op, right) if type(op) in _BINARY:
            other = ast.BinOp(left, _BINARY[type(op)](), right)
            yield f"{_sign(node)} -> {_sign(other)}", other
        case ast.Compare(left, [op], [right]):
            changed = ast.Compare(left, [_COMPARE[type(op)]()], [right])
            yield f"{_sign(node)} -> {_sign(changed)}", changed
        case ast.BoolOp(ast.And(), values):
            yield "and -> or", ast.BoolOp(ast.Or(), values)
        case ast.BoolOp(ast.Or(), values):
            yield "or -> and", ast.BoolOp(ast.And(), values)
        case ast.UnaryOp(ast.USub(), operand):
            yield "-x -> x", ast.UnaryOp(ast.UAdd(), operand)
        case ast.UnaryOp(ast.Not(), operand):
            yield (
                "not x -> x",
                ast.UnaryOp(ast.UAdd(), ast.Call(ast.Name("bool", ast.Load()), [operand], [])),
            )
        case ast.Call(ast.Name(name), args, keywords) if name in _NAMES:
            new_call = ast.Call(ast.Name(_NAMES[name], ast.Load()), args, keywords)
            yield f"{name} -> {_NAMES[name]}", new_call
        case ast.Call(ast.Attribute(value, name), args, keywords) if name in _NAMES:
            other_name = _NAMES[name]
            if other_name == "abs" and isinstance(value, ast.Name) and value.id == "math":
                other_name = _MATH_ABS
            new_call = ast.Call(ast.Attribute(value, other_name, ast.Load()), args, keywords)
            yield f"{name} -> {other_name}", new_call


def _sign(node: ast.BinOp | ast.Compare) -> str:
    """The operator as it is written."""
    blank = ast.Name("x", ast.Load())
    if isinstance(node, ast.BinOp):
        return ast.unparse(ast.BinOp(blank, node.op, blank)).strip("x").strip()
    return ast.unparse(ast.Compare(blank, node.ops, [blank])).strip("x").strip()
