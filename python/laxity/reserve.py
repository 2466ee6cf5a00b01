"""Programs reserve CPU time for themselves: so much in every period, kept whatever else computes.

`laxity cpu serve` decides; this asks it. Times are seconds, as a float or exact as a Fraction.

    from laxity import reserve
    try:
        reserve.reserve(runtime=0.004, period=0.010)
    except reserve.Refused as why:
        print(why, why.code, why.fits)

Each call makes a connection of its own, so calls may be made by any thread and by children. What goes
over the socket is described in docs/how-to/cpu-programs.md. Only the standard library is used.
"""

import json
import os
import socket
import threading
from dataclasses import dataclass
from fractions import Fraction
from typing import Optional, Union

__all__ = ["Error", "Refused", "Unreachable", "Reserved", "Held", "Share", "State",
           "reserve", "query", "release"]

VERSION = 1
SOCKET = "/run/laxity/cpu.sock"
LONGEST = 4096
# Reservations are answered when they are in force, which may take seconds.
PATIENCE = 60.0

Seconds = Union[int, float, Fraction]


class Error(Exception):
    """A request was not granted."""


class Unreachable(Error):
    """There is no server, or it may not be asked; or no answer came, and `query` tells what is."""


class Refused(Error):
    """The server refused.

    `code` says why, for programs: "no-room", "share", "has-one", ...
    `fits` is the largest runtime in seconds that would be granted with the same period, a Fraction;
    None where that is not the question, zero when none would.
    """

    def __init__(self, text: str, code: str, fits: Optional[Fraction]):
        super().__init__(text)
        self.code = code
        self.fits = fits


@dataclass(frozen=True)
class Reserved:
    """A reservation in force, and the CPU that keeps it."""
    cpu: int
    runtime_ns: int
    period_ns: int


@dataclass(frozen=True)
class Held:
    """What a task has: shared by `tasks`, late in `late` periods, by `latest_ns` at most."""
    cpu: int
    runtime_ns: int
    period_ns: int
    inherit: bool
    tasks: int
    late: int
    latest_ns: int


@dataclass(frozen=True)
class Share:
    """What the user holds and may hold, in millionths of one CPU."""
    held_ppm: int
    most_ppm: int


@dataclass(frozen=True)
class State:
    """What a task has, and its user's share; None for root, who has no limit."""
    reservation: Optional[Held]
    share: Optional[Share]


def reserve(runtime: Seconds, period: Seconds, task: Optional[int] = None,
            inherit: bool = False) -> Reserved:
    """Reserves for a thread, by its native id; for the calling one when not given.

    Comes back when the reservation is in force. With `inherit` threads and processes that the task
    starts from then on share it. It ends with the last of its tasks, or by `release`.
    """
    asked = {"task": _task(task), "runtime_ns": _ns(runtime), "period_ns": _ns(period),
             "inherit": bool(inherit)}
    return _made(Reserved, _ask("reserve", asked, "reserved"))


def query(task: Optional[int] = None) -> State:
    """What a thread has, the calling one when not given, and what its user may still have."""
    state = _ask("query", {"task": _task(task)}, "state")
    held, share = state.get("reservation"), state.get("share")
    return State(held and _made(Held, held), share and _made(Share, share))


def release(task: Optional[int] = None) -> None:
    """Ends the reservation of a thread, the calling one when not given."""
    _ask("release", {"task": _task(task)}, "released")


def _task(task: Optional[int]) -> int:
    return threading.get_native_id() if task is None else int(task)


def _ns(seconds: Seconds) -> int:
    ns = round(Fraction(seconds) * 1_000_000_000)
    if not 0 <= ns < 1 << 64:
        raise ValueError(f"{seconds} s is no time that can be reserved")
    return ns


def _made(kind, fields):
    # Answers may have grown since.
    try:
        return kind(**{name: fields[name] for name in kind.__dataclass_fields__})
    except (KeyError, TypeError) as error:
        raise Error(f"this is no answer: {fields}") from error


def _ask(name: str, request: dict, wanted: str) -> dict:
    path = os.environ.get("LAXITY_CPU_SOCKET") or SOCKET
    call = json.dumps({"version": VERSION, "request": {name: request}}).encode() + b"\n"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.settimeout(PATIENCE)
        try:
            server.connect(path)
        except PermissionError as error:
            raise Unreachable(f"{path}: {error}; the socket's group may use it, "
                              "see `laxity cpu serve --group`") from error
        except OSError as error:
            raise Unreachable(f"{path}: {error}; is `laxity cpu serve` running?") from error
        line = b""
        try:
            try:
                server.sendall(call)
            except BrokenPipeError:
                pass  # It may have said why before it hung up.
            while not line.endswith(b"\n") and len(line) < LONGEST:
                received = server.recv(LONGEST)
                if not received:
                    break
                line += received
        except OSError as error:
            raise Unreachable(f"{path}: no answer came ({error})") from error
    if not line.endswith(b"\n"):
        raise Unreachable(f"{path}: no answer came")
    try:
        answer = json.loads(line)["answer"]
        if "refused" in answer:
            why = answer["refused"]
            fits = why.get("fits_ns")
            fits = None if fits is None else Fraction(fits, 1_000_000_000)
            raise Refused(why["text"], why["code"], fits)
        return answer[wanted]
    # An answer may be nested as deeply as its length allows.
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Error(f"this is no answer: {line[:200]!r}") from error
