#!/usr/bin/env python3
"""The page docs/reference/python.md: signatures from the typed stubs and sources, their texts from the package itself.

    python python/reference.py            # prints the page
    LAXITY_BLESS=1 python -m unittest python/tests/test_reference.py    # writes it

Needs `laxity` with its compiled part, which has the texts of what is written in Rust.
"""

import ast
import importlib
import inspect
import pathlib
from typing import Any, List, Optional, Sequence, Tuple, Union

PACKAGE = pathlib.Path(__file__).resolve().parent / "laxity"
Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]

HEAD = """# Python

The names of the package `laxity`: signatures from its typed stubs, texts from the package. A test writes this page from
them. A `Quantity` is a text with a unit, or a number in seconds, bytes or bit/s; a `Path` is a text or a path-like object;
results about curves are `Fraction`s. [How to use it](../../python/README.md).
"""

SECTIONS: Sequence[Tuple[str, str, Sequence[str]]] = [
    ("Curves and envelopes", "_laxity.pyi", ["Curve", "Envelope"]),
    ("Scenarios, verdicts, results", "_laxity.pyi",
     ["Scenario", "Check", "Plan", "Simulation", "Table", "Trace", "Recording", "policies"]),
    ("Policies step by step", "_laxity.pyi",
     ["LinkPolicy", "Packet", "Departure", "StreamPolicy", "StreamPacket", "StreamDeparture", "CpuPolicy", "Attributes"]),
    ("Policies written in Python", "_laxity.pyi",
     ["LinkPolicyProtocol", "StreamPolicyProtocol", "StreamHead", "CpuPolicyProtocol"]),
    ("Sweeps and their statistics", "sweeps.py", ["sweep", "Sweep", "Interval", "interval", "paired"]),
    ("`laxity.executors`", "executors.py", ["RayExecutor"]),
    ("`laxity.errors`", "errors.py",
     ["Error", "InputError", "QuantityError", "CurveError", "PolicyError", "ScenarioError", "Problem", "InternalError"]),
    ("`laxity.reserve`", "reserve.py",
     ["reserve", "query", "release", "Grant", "State", "ReservationStatus", "Share", "Error", "Unreachable", "Refused"]),
]


def _found(source: str, name: str) -> Any:
    """The definition of a name in a file of the package, else in the stubs."""
    for file in (source, "_laxity.pyi"):
        for node in ast.parse((PACKAGE / file).read_text()).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
                return node
    raise LookupError(f"{source} has no {name}")


def _decorators(node: Any) -> List[str]:
    return [ast.unparse(decorator) for decorator in node.decorator_list]


def _signature(function: Function, name: str, method: bool) -> str:
    """`name(arguments) -> result`, as a caller writes it."""
    arguments = ast.unparse(function.args)
    if method and "staticmethod" not in _decorators(function):
        arguments = arguments.partition(", ")[2] if ", " in arguments else ""
        arguments = arguments.removeprefix("/, ").removesuffix(", /")
    result = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    return f"{name}({arguments}){'' if name == '__init__' else result}"


def _paragraph(text: Optional[str]) -> str:
    """The text of a name, as one line of a table."""
    return " ".join((text or "").split()).replace("|", "\\|")


def _text(owner: Any, name: str, node: Any) -> str:
    """The text of a member: of the package, or of the source where a stub has it."""
    own = ast.get_docstring(node)
    if own is None and owner is not None and name not in ("__init__", "__eq__", "__hash__"):
        own = inspect.getdoc(getattr(owner, name, None))
    return _paragraph(own)


# How operators are written, and their texts, which Python does not keep.
OPERATORS = {
    "__add__": ("a + b", "The sum."),
    "__sub__": ("a - b", "The difference."),
    "__call__": ("curve({})", "The value at an instant, exact; of an array of seconds an array of floats."),
    "__len__": ("len(table)", "The number of rows."),
    "__getitem__": ("table[name]", "The values of a column."),
    "__bool__": ("bool(x)", "Whether everything fits, or is guaranteed."),
}
# The built-in classes with the methods of a protocol.
MODELS = {"LinkPolicyProtocol": "LinkPolicy", "CpuPolicyProtocol": "CpuPolicy"}
HIDDEN = {"__eq__", "__hash__", "__init__", "__str__", "__arrow_c_schema__", "__arrow_c_array__", "__arrow_c_stream__"}


def _class(node: ast.ClassDef, owner: Any) -> str:
    bases = [ast.unparse(base) for base in node.bases if ast.unparse(base) not in ("Protocol", "Exception")]
    text = ast.get_docstring(node) or inspect.getdoc(owner) or ""
    page = f"\n### `{node.name}`\n\n{text}{f' A kind of `{bases[0]}`.' if bases else ''}\n"
    makers = [_signature(member, node.name, True).partition(" -> ")[0] for member in node.body
              if isinstance(member, ast.FunctionDef) and member.name == "__init__"]
    if makers:
        page += "\n```python\n" + "\n".join(makers) + "\n```\n"
    rows, fields = [], []
    for member in node.body:
        if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
            fields.append(f"`{member.target.id}: {ast.unparse(member.annotation)}`")
        if not isinstance(member, ast.FunctionDef) or member.name in HIDDEN:
            continue
        own = _text(owner, member.name, member)
        shape = _signature(member, member.name, True)
        if member.name in OPERATORS:
            form, own = OPERATORS[member.name]
            shape = form.format(shape[len("__call__("):shape.rindex(")")]) + shape[shape.rindex(" -> "):]
        elif "property" in _decorators(member):
            shape = f"{member.name}: {ast.unparse(member.returns) if member.returns else 'Any'}"
        elif "staticmethod" in _decorators(member):
            shape = f"{node.name}.{shape}"
        rows.append(f"| `{_cell(shape)}` | {own} |")
    if fields:
        page += f"\nFields: {', '.join(fields)}.\n"
    if rows:
        page += "\n| member | meaning |\n|---|---|\n" + "\n".join(rows) + "\n"
    return page


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def page() -> str:
    """The whole page."""
    text = HEAD
    for heading, source, names in SECTIONS:
        text += f"\n## {heading}\n"
        homes = {f"{name}.py": f"laxity.{name}" for name in ("errors", "executors", "reserve")}
        module = importlib.import_module(homes.get(source, "laxity"))
        for name in names:
            node, owner = _found(source, name), getattr(module, MODELS.get(name, name), None)
            if isinstance(node, ast.ClassDef):
                text += _class(node, owner)
            else:
                own = ast.get_docstring(node) or inspect.getdoc(owner) or ""
                text += f"\n### `{name}`\n\n```python\n{_signature(node, name, False)}\n```\n\n{own}\n"
    return text


def names() -> List[str]:
    """The names of `laxity` itself that the page describes."""
    return [name for _, source, part in SECTIONS if source not in ("executors.py", "reserve.py") for name in part]


if __name__ == "__main__":
    print(page(), end="")
