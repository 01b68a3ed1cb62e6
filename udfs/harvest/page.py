"""A documentation page in the shape that reference manuals have: name, kind, signature, bases, parameters, text."""

from __future__ import annotations

import ast
import copy
import sys

from udfs.harvest.source import Function, ModuleSource, Obj, constants, docstring, unparse

_MAX_LISTED = 60
_NEIGHBOURS = 4


def _init_of(node: ast.ClassDef) -> Function | None:
    return next((item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"), None)


def _arguments(node: Function, *, bound: bool) -> ast.arguments:
    """The arguments that a caller passes: without self or cls where the function is bound."""
    arguments = copy.deepcopy(node.args)
    if bound:
        if arguments.posonlyargs:
            arguments.posonlyargs.pop(0)
        elif arguments.args:
            arguments.args.pop(0)
        positional = arguments.posonlyargs + arguments.args
        arguments.defaults = arguments.defaults[-len(positional) :] if positional else []
    return arguments


def arguments_of(obj: Obj) -> ast.arguments | None:
    """Arguments of a callable, or of a class's ``__init__``; None where there is nothing to call."""
    if isinstance(obj.node, ast.ClassDef):
        init = _init_of(obj.node)
        return _arguments(init, bound=True) if init is not None else None
    if obj.kind not in ("function", "method") or isinstance(obj.node, ast.Module):
        return None
    is_static = any(ast.unparse(item) == "staticmethod" for item in obj.node.decorator_list)
    return _arguments(obj.node, bound=obj.kind == "method" and not is_static)


def _signature(obj: Obj) -> str | None:
    arguments = arguments_of(obj)
    if arguments is None:
        return f"class {obj.dotted}" if obj.kind == "class" else None
    prefix = "class " if obj.kind == "class" else "async " if isinstance(obj.node, ast.AsyncFunctionDef) else ""
    returns = getattr(obj.node, "returns", None)
    suffix = f" -> {ast.unparse(returns)}" if isinstance(returns, ast.expr) else ""
    return f"{prefix}{obj.dotted}({unparse(arguments, obj.module)}){suffix}"


def parameters(arguments: ast.arguments, module: ModuleSource) -> list[tuple[str, str | None]]:
    """(name as written with its stars, default as source or None) in order."""
    positional = arguments.posonlyargs + arguments.args
    gaps: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    found = [(arg.arg, default) for arg, default in zip(positional, gaps + list(arguments.defaults), strict=True)]
    if arguments.vararg:
        found.append(("*" + arguments.vararg.arg, None))
    found += [(arg.arg, default) for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    if arguments.kwarg:
        found.append(("**" + arguments.kwarg.arg, None))
    return [(name, unparse(default, module) if default is not None else None) for name, default in found]


def _resolve(base: ast.expr, obj: Obj) -> str:
    """Dotted name of a base class: through the module's imports, its own classes, or the builtins."""
    written = ast.unparse(base)
    head, _, rest = written.partition(".")
    module = obj.module
    if head in module.classes:
        return f"{module.name}.{written}"
    if head in module.imports:
        return module.imports[head] + (f".{rest}" if rest else "")
    return written


def bases(obj: Obj) -> list[str]:
    """Dotted names of the bases as the class statement lists them."""
    return [_resolve(base, obj) for base in obj.node.bases] if isinstance(obj.node, ast.ClassDef) else []


def _member_lines(obj: Obj) -> list[str]:
    lines: list[str] = []
    for label, kind, call in (
        ("Classes", "class", ""),
        ("Functions", "function", "()"),
        ("Methods", "method", "()"),
        ("Properties", "property", ""),
    ):
        names = sorted({member.name + call for member in obj.members if member.kind == kind})[:_MAX_LISTED]
        if names:
            lines.append(f"{label}: {', '.join(names)}")
    values = constants(obj)[:_MAX_LISTED] if isinstance(obj.node, ast.Module | ast.ClassDef) else []
    if values:
        label = "Constants" if obj.kind == "module" else "Attributes"
        lines += [f"{label}:", *(f"  {obj.dotted}.{name} = {value}" for name, value in values)]
    return lines


def _kind_line(obj: Obj) -> str:
    if obj.kind == "module":
        return f"Module of the Python {sys.version_info[0]}.{sys.version_info[1]} standard library."
    place = f"module {obj.module.name}" if obj.owner == obj.module.name else f"class {obj.owner}"
    return f"{obj.kind.capitalize()} of {place}."


def page(obj: Obj, neighbours: list[str]) -> str | None:
    """The page of one object, or None where its source says nothing about it.

    ``neighbours`` are dotted names of objects defined close by, listed as a manual's "See also".
    """
    text = docstring(obj)
    arguments = arguments_of(obj)
    listed = parameters(arguments, obj.module) if arguments is not None else []
    inherits = bases(obj)
    told = [default for _, default in listed if default not in (None, "None")]
    if not text and not told and not inherits:
        return None
    blocks = [obj.dotted, _kind_line(obj)]
    head = [line for line in (_signature(obj), f"Bases: {', '.join(inherits)}" if inherits else None) if line]
    if head:
        blocks.append("\n".join(head))
    if listed:
        rows = [f"  {name}" + (f" (default: {default})" if default is not None else "") for name, default in listed]
        blocks.append("\n".join(["Parameters:", *rows]))
    if text:
        blocks.append(text)
    members = _member_lines(obj)
    if members:
        blocks.append("\n".join(members))
    if neighbours:
        blocks.append(f"See also: {', '.join(neighbours[:_NEIGHBOURS])}")
    return "\n\n".join(blocks) + "\n"
