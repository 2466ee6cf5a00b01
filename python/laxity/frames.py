"""Tables as data frames, and data frames as traces."""

from typing import TYPE_CHECKING, Any, Dict, List, Tuple

from .errors import InputError

if TYPE_CHECKING:
    import pandas
    import polars

    from ._laxity import Check, Table, Trace

__all__ = ["check_to_pandas", "check_to_polars", "to_pandas", "to_polars", "trace"]


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


def _flows(column: Any) -> Tuple[Any, Any]:
    """Indices and, of flows by name, their names in order of appearance."""
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

    try:
        columns = list(getattr(frame, "columns", frame))
    except TypeError:
        raise InputError(f"{frame!r} is no trace: give a `Trace`, the path of a capture or CSV trace, or columns by name: "
                         "a data frame or a dictionary of arrays") from None
    if "time_ns" in columns:
        times = frame["time_ns"]
    elif "time" in columns:
        times = frame["time"]
    else:
        raise InputError("the trace has no column `time`, in seconds, or `time_ns`")
    for name in ("bytes", "flow"):
        if name not in columns:
            raise InputError(f"the trace has no column `{name}`; it has {', '.join(map(str, columns))}")
    indices, names = _flows(frame["flow"])
    return Trace(times, frame["bytes"], indices, names)
