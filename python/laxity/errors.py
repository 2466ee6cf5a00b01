"""The exceptions of Laxity; their texts are those of the command."""

from dataclasses import dataclass
from typing import List, Sequence

__all__ = ["CurveError", "Error", "InputError", "InternalError", "PolicyError", "Problem", "QuantityError",
           "ScenarioError"]


class Error(Exception):
    """Something failed."""


class InputError(Error, ValueError):
    """An argument, a file or a trace cannot be used; the text says what to do."""


class QuantityError(InputError):
    """A quantity is malformed, of another dimension, or not exact."""


class CurveError(InputError):
    """A curve or an envelope does not exist, or a number left 128 bits."""


class PolicyError(InputError):
    """A policy was driven, or answered, against the rules of its engine."""


class InternalError(Error):
    """A bug in Laxity."""


@dataclass(frozen=True)
class Problem:
    """One problem of a scenario."""

    line: int
    column: int
    key: str
    what: str
    remedy: str


class ScenarioError(InputError):
    """A scenario with problems, or a file that cannot be read."""

    def __init__(self, text: str, path: str = "", problems: Sequence[Problem] = ()) -> None:
        super().__init__(text, path, problems)
        self.path = path
        self.problems: List[Problem] = list(problems)

    def __str__(self) -> str:
        return str(self.args[0])
