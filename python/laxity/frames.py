"""Tables as data frames, and data frames as traces and recordings."""

from typing import TYPE_CHECKING, Any, Dict, List, Literal, Tuple

from .errors import InputError

if TYPE_CHECKING:
    import pandas
    import polars

    from ._laxity import Check, Recording, Table, Trace

__all__ = ["check_to_pandas", "check_to_polars", "recording", "to_pandas", "to_polars", "trace"]


def to_pandas(table: "Table") -> "pandas.DataFrame":
    """A data frame without a copy of its numbers; whole numbers of which some are absent are `UInt64`."""
    import pandas

    columns: Dict[str, Any] = {}
    for name in table.columns:
        values, absent = table.to_numpy(name)
        if isinstance(values, list):
            columns[name] = pandas.array(values, dtype="string")
        elif absent is None:
            columns[name] = values
        elif values.dtype.kind == "u":
            columns[name] = pandas.arrays.IntegerArray(values.copy(), absent.copy())
        else:
            columns[name] = pandas.Series(values).mask(absent)
    return pandas.DataFrame(columns)


def to_polars(table: "Table") -> "polars.DataFrame":
    """A data frame by the C data interface of Arrow."""
    import polars

    frame = polars.DataFrame(table)
    assert isinstance(frame, polars.DataFrame)
    return frame


def _check_rows(check: "Check") -> List[Dict[str, Any]]:
    verdict = check.to_dict()
    if "requests" in verdict:
        return [dict(row) for row in verdict["requests"]]
    key, name = ("classes", "class") if "classes" in verdict else ("flows", "flow")
    plain = (str, int, float, bool, type(None))
    return [{name: own, **{k: v for k, v in row.items() if isinstance(v, plain)}}
            for own, row in verdict[key].items()]


def check_to_pandas(check: "Check") -> "pandas.DataFrame":
    """A row for each flow, class or request of a verdict."""
    import pandas

    return pandas.DataFrame(_check_rows(check))


def check_to_polars(check: "Check") -> "polars.DataFrame":
    """The same for polars."""
    import polars

    return polars.DataFrame(_check_rows(check), infer_schema_length=None)


def _columns(frame: Any, kind: str, files: str) -> "List[Any]":
    """The names of the columns of a data frame or dictionary."""
    try:
        return list(getattr(frame, "columns", frame))
    except TypeError:
        raise InputError(f"{frame!r} is no {kind}: give a `{kind.title()}`, the path of {files}, or columns by name: "
                         "a data frame or a dictionary of arrays") from None


def _instants(frame: Any, columns: "List[Any]", name: str, kind: str) -> Any:
    """A column in whole nanoseconds or in seconds."""
    if f"{name}_ns" in columns:
        return frame[f"{name}_ns"]
    if name in columns:
        return frame[name]
    raise InputError(f"the {kind} has no column `{name}`, in seconds, or `{name}_ns`")


def _named(frame: Any, columns: "List[Any]", name: str, kind: str) -> Any:
    if name not in columns:
        raise InputError(f"the {kind} has no column `{name}`; it has {', '.join(map(str, columns))}")
    return frame[name]


def _indices(column: Any) -> Tuple[Any, Any]:
    """Indices and, of flows or threads by name, their names in order of appearance."""
    import numpy

    values = numpy.asarray(column)
    if values.dtype.kind in "iu":
        return values, None
    names: Dict[str, int] = {}
    indices = numpy.fromiter((names.setdefault(str(name), len(names)) for name in values), dtype="u8",
                             count=len(values))
    return indices, list(names)


def trace(frame: Any) -> "Trace":
    """The packets of a data frame or a dictionary of arrays: columns `time` or `time_ns`, `bytes`, `flow`."""
    from ._laxity import Trace

    columns = _columns(frame, "trace", "a capture or CSV trace")
    times = _instants(frame, columns, "time", "trace")
    sizes = _named(frame, columns, "bytes", "trace")
    flows, names = _indices(_named(frame, columns, "flow", "trace"))
    return Trace(times, sizes, flows, names)


def recording(frame: Any, sleeps: 'Literal["lengths", "instants"]') -> "Recording":
    """The bursts of a data frame or a dictionary of arrays: columns `thread`, and `wake`, `block` and `ran` or these
    with `_ns`."""
    from ._laxity import Recording

    columns = _columns(frame, "recording", "a recorded schedule")
    wakes, blocks, ran = (_instants(frame, columns, name, "recording") for name in ("wake", "block", "ran"))
    threads, names = _indices(_named(frame, columns, "thread", "recording"))
    return Recording(wakes, blocks, ran, threads, names, sleeps=sleeps)
