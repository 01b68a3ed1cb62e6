"""Objects of a module as its syntax tree shows them; nothing is imported or run."""

from __future__ import annotations

import ast
import copy
import re
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
#: Definitions inside these run when the module is read, so they are the module's own.
_COMPOUND = (ast.If, ast.Try, ast.With)
_MAX_CONSTANT = 60


@dataclass(slots=True)
class Obj:
    """A public object: ``node`` is its definition, ``owner`` the dotted name of the class or module around it."""

    kind: str  # module, class, function, method, property
    name: str
    owner: str
    node: ast.Module | ast.ClassDef | Function
    module: ModuleSource
    members: list[Obj] = field(default_factory=list)

    @property
    def dotted(self) -> str:
        """Full dotted name."""
        return f"{self.owner}.{self.name}" if self.owner else self.name


@dataclass(slots=True)
class ModuleSource:
    """A parsed module: its lines, and where the names in it come from."""

    name: str
    tree: ast.Module
    lines: list[str]
    imports: dict[str, str]
    classes: frozenset[str]


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a body, with those of its if, try and with blocks, in order."""
    for statement in body:
        yield statement
        if isinstance(statement, _COMPOUND):
            yield from _statements(statement.body)
            for name in ("orelse", "finalbody"):
                yield from _statements(getattr(statement, name, []))
            for handler in getattr(statement, "handlers", []):
                yield from _statements(handler.body)


def _imports(tree: ast.Module, name: str, *, is_package: bool) -> dict[str, str]:
    """Local name -> dotted name, for the imports at module level."""
    table: dict[str, str] = {}
    for node in _statements(tree.body):
        if isinstance(node, ast.Import):
            for alias in node.names:
                table[alias.asname or alias.name.partition(".")[0]] = alias.name if alias.asname else alias.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom):
            parts = name.split(".")
            keep = len(parts) - node.level + (1 if is_package else 0)
            base = [] if node.level == 0 else parts[: max(keep, 0)]
            origin = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                table[alias.asname or alias.name] = f"{origin}.{alias.name}" if origin else alias.name
    return table


def read_module(path: Path, name: str) -> ModuleSource | None:
    """Parse one file; None where it is not Python of this version."""
    try:
        with tokenize.open(path) as stream:
            text = stream.read()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in old sources are not our business
            tree = ast.parse(text)
    except (OSError, SyntaxError, UnicodeDecodeError, ValueError):
        return None
    classes = frozenset(node.name for node in _statements(tree.body) if isinstance(node, ast.ClassDef))
    return ModuleSource(name, tree, text.splitlines(), _imports(tree, name, is_package=path.name == "__init__.py"), classes)


def _decorators(node: Function) -> list[str]:
    return [ast.unparse(item) for item in node.decorator_list]


def _callable(node: Function, owner: Obj) -> Obj | None:
    if node.name.startswith("_"):
        return None
    marks = _decorators(node)
    if any(mark.endswith((".setter", ".deleter", "overload")) for mark in marks):
        return None
    if owner.kind == "module":
        return Obj("function", node.name, owner.dotted, node, owner.module)
    is_property = any(mark.rpartition(".")[2] in ("property", "cached_property") for mark in marks)
    return Obj("property" if is_property else "method", node.name, owner.dotted, node, owner.module)


def _fill(owner: Obj, body: list[ast.stmt]) -> None:
    for node in _statements(body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            member = _callable(node, owner)
            if member is not None:
                owner.members.append(member)
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            member = Obj("class", node.name, owner.dotted, node, owner.module)
            _fill(member, node.body)
            owner.members.append(member)


def objects(module: ModuleSource) -> Obj:
    """The module as an object with its public members below it."""
    root = Obj("module", module.name, "", module.tree, module)
    _fill(root, module.tree.body)
    return root


class _AsWritten(ast.NodeTransformer):
    """Keeps hexadecimal, octal and binary numbers as their source writes them."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if type(node.value) is int and node.lineno == node.end_lineno:
            line = self.lines[node.lineno - 1].encode("utf-8")
            written = line[node.col_offset : node.end_col_offset].decode("utf-8", "replace")
            if re.fullmatch(r"0[xXoObB][0-9A-Fa-f_]+", written):
                return ast.copy_location(ast.Name(id=written, ctx=ast.Load()), node)
        return node


def unparse(node: ast.AST, module: ModuleSource) -> str:
    """Source of a node on one line, with numbers in the base in which they are written."""
    return ast.unparse(_AsWritten(module.lines).visit(copy.deepcopy(node)))


def constants(obj: Obj) -> list[tuple[str, str]]:
    """(name, literal) of the public names that the body assigns once to a number or a string, in order."""
    body = obj.node.body
    found: dict[str, list[str]] = {}
    for node in _statements(body):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        for target in targets:
            if isinstance(target, ast.Name) and not target.id.startswith("_"):
                value = getattr(node, "value", None)
                found.setdefault(target.id, []).append(unparse(value, obj.module) if _is_literal(value) and value is not None else "")
    return [(name, values[0]) for name, values in found.items() if len(values) == 1 and 0 < len(values[0]) <= _MAX_CONSTANT]


def _is_literal(value: ast.expr | None) -> bool:
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        value = value.operand
    return isinstance(value, ast.Constant) and isinstance(value.value, int | float | str) and not isinstance(value.value, bool)


def docstring(obj: Obj) -> str:
    """Its docstring, else the comment block directly above the definition (as ``pydoc`` does)."""
    text = ast.get_docstring(obj.node)
    if text or isinstance(obj.node, ast.Module):
        return (text or "").strip()
    line = min([obj.node.lineno, *(item.lineno for item in obj.node.decorator_list)]) - 2
    block: list[str] = []
    while line >= 0 and re.match(r"\s*#", obj.module.lines[line]):
        block.append(re.sub(r"^\s*#+ ?", "", obj.module.lines[line]))
        line -= 1
    if any(re.search(r"[-=#*]{4,}", item) for item in block):
        return ""  # a banner between sections speaks of the section
    return "\n".join(reversed(block)).strip()
