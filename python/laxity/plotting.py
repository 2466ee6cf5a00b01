"""Plots by matplotlib, which is imported when the first is drawn."""

from typing import TYPE_CHECKING, Any, Optional

from .errors import InputError

if TYPE_CHECKING:
    from ._laxity import Check, Curve, Simulation

__all__ = ["check", "curve", "simulation"]


def _axes(ax: Optional[Any]) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot

    return matplotlib.pyplot.gca()


def curve(curve: "Curve", ax: Optional[Any] = None, *, end: Any = None, **options: Any) -> Any:
    """Draws a curve up to `end`, bytes over seconds; `options` go to matplotlib."""
    axes = _axes(ax)
    times, values = curve.points(end)
    axes.plot(times, values, **options)
    axes.set_xlabel("length of the interval in s")
    axes.set_ylabel("data in B")
    return axes


def check(check: "Check", ax: Optional[Any] = None) -> Any:
    """Draws the residual capacity of a link, bytes over seconds."""
    verdict = check.to_dict()
    if "residual" not in verdict:
        raise InputError("only the verdict about a link has a residual capacity to draw")
    axes = _axes(ax)
    corners = [(ns / 1e9, size) for ns, size, _ in verdict["residual"]]
    axes.plot([t for t, _ in corners], [size for _, size in corners])
    axes.set_xlabel("length of the interval in s")
    axes.set_ylabel("residual capacity in B")
    return axes


def simulation(simulation: "Simulation", ax: Optional[Any] = None) -> Any:
    """Draws the mean delay of each flow, or what tells most of a task or a class, by policy."""
    table = simulation.table.to_dict()
    name = next(n for n in ("flow", "task", "class") if n in table)
    value = {"flow": "mean_ms", "task": "mean_response_ms", "class": "tumbling_violations"}[name]
    axes = _axes(ax)
    rows = list(zip(table["policy"], table[name], table[value]))
    policies = list(dict.fromkeys(policy for policy, _, _ in rows))
    names = list(dict.fromkeys(own for _, own, _ in rows))
    width = 0.8 / len(policies)
    for at, policy in enumerate(policies):
        heights = []
        for own in names:
            found = [v for p, n, v in rows if (p, n) == (policy, own) and v is not None]
            heights.append(sum(found) / len(found) if found else 0.0)
        axes.bar([i + at * width for i in range(len(names))], heights, width, label=policy)
    axes.set_xticks([i + 0.4 - width / 2 for i in range(len(names))], names)
    axes.set_ylabel(value)
    axes.legend()
    return axes
