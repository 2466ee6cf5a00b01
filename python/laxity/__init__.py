"""Laxity: real-time and best-effort work from one deadline queue.

Curves and envelopes are exact, scenarios are checked and simulated by the code of the command `laxity`, and
policies run step by step or are written in Python. Quantities are texts with units, as "10 Mbit/s", or numbers
in seconds, bytes and bit/s.

    import laxity
    scenario = laxity.Scenario.read("scenarios/access-link.toml")
    print(scenario.check())
    frame = scenario.simulate(["exact", "background"], seeds=range(1, 11), duration=10).to_pandas()

Names are loaded when they are first used: `laxity.reserve` needs nothing but the standard library.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._laxity import (Attributes, Check, CpuPolicy, Curve, Departure, Envelope, LinkPolicy, Packet, Plan, Recording,
                          Scenario, Simulation, StreamDeparture, StreamHead, StreamPacket, StreamPolicy, Sweep, Table,
                          Trace, __version__, policies)
    from .sweeps import Interval, interval, paired, sweep
    from .errors import (CurveError, Error, InputError, InternalError, PolicyError, Problem, QuantityError,
                         ScenarioError)

_HOMES = {
    "_laxity": ("Attributes", "Check", "CpuPolicy", "Curve", "Departure", "Envelope", "LinkPolicy", "Packet",
                "Plan", "Recording", "Scenario", "Simulation", "StreamDeparture", "StreamHead", "StreamPacket",
                "StreamPolicy", "Sweep", "Table", "Trace", "__version__", "policies"),
    "errors": ("CurveError", "Error", "InputError", "InternalError", "PolicyError", "Problem", "QuantityError",
               "ScenarioError"),
    "sweeps": ("Interval", "interval", "paired", "sweep"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Attributes", "Check", "CpuPolicy", "Curve", "CurveError", "Departure", "Envelope", "Error", "InputError",
    "InternalError", "Interval", "LinkPolicy", "Packet", "Plan", "PolicyError", "Problem", "QuantityError",
    "Recording", "Scenario", "ScenarioError", "Simulation", "StreamDeparture", "StreamHead", "StreamPacket", "StreamPolicy", "Sweep", "Table",
    "Trace", "__version__", "interval", "paired", "policies", "sweep",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'laxity' has no attribute '{name}'")
    try:
        value = getattr(import_module(f"laxity.{home}"), name)
    except ModuleNotFoundError as missing:
        if missing.name != "laxity._laxity":
            raise
        raise ImportError(f"laxity.{name} is in the compiled part of the package, which is not installed here: "
                          "`pip install ./python` in the sources builds it") from missing
    globals()[name] = value
    return value


def __dir__() -> "list[str]":
    return sorted([*globals(), *_HOME_OF])
