"""Client of `laxity cpu serve`, by which programs reserve CPU time: a runtime in every period.

Times are seconds, as a float or, exactly, as a Fraction.

    from laxity import reserve
    try:
        reserve.reserve(runtime=0.004, period=0.010)
    except reserve.Refused as why:
        print(why, why.code, why.max_runtime)

Each call uses a connection of its own, so any thread and any child may call. docs/how-to/cpu-programs.md
describes the protocol. The module uses the standard library only.
"""

import json
import os
import socket
import threading
from dataclasses import dataclass, fields as dataclass_fields
from fractions import Fraction
from typing import Any, Dict, Optional, Type, TypeVar, Union

__all__ = ["Error", "Refused", "Unreachable", "Grant", "ReservationStatus", "Share", "State",
           "reserve", "query", "release"]

VERSION = 2
SOCKET_PATH = "/run/laxity/cpu.sock"
MAX_LINE_BYTES = 4096
# A reservation is answered once it is in force, which may take seconds.
TIMEOUT = 60.0

Seconds = Union[int, float, Fraction]
T = TypeVar("T")


class Error(Exception):
    """A request failed."""


class Unreachable(Error):
    """No server listens, or the caller may not connect; or no answer arrived, and `query` returns the state."""


class Refused(Error):
    """The server refused the request, or speaks another version of the protocol.

    `code` is the reason: "no-room", "share", "already-reserved", ...
    `max_runtime` is the largest runtime in seconds that would be granted with the same period, a
    Fraction; zero if none would, None for refusals that do not depend on it.
    """

    def __init__(self, text: str, code: str, max_runtime: Optional[Fraction]):
        super().__init__(text)
        self.code = code
        self.max_runtime = max_runtime


@dataclass(frozen=True)
class Grant:
    """A granted reservation, and the CPU that serves it."""
    cpu: int
    runtime_ns: int
    period_ns: int


@dataclass(frozen=True)
class ReservationStatus:
    """A reservation, the number of tasks that share it, and its deadline statistics."""
    cpu: int
    runtime_ns: int
    period_ns: int
    inherit: bool
    tasks: int
    deadline_misses: int
    max_lateness_ns: int


@dataclass(frozen=True)
class Share:
    """The user's reservations and their limit, in millionths of one CPU."""
    reserved_ppm: int
    limit_ppm: int


@dataclass(frozen=True)
class State:
    """The reservation of a task, and the share of its user; None for root, which has no limit."""
    reservation: Optional[ReservationStatus]
    share: Optional[Share]


def reserve(runtime: Seconds, period: Seconds, task: Optional[int] = None,
            inherit: bool = False) -> Grant:
    """Reserves for a thread, given by its native id; by default the calling thread.

    Returns once the reservation is in force. With `inherit`, threads and processes that the task starts
    later share it. The reservation ends with the last of its tasks, or by `release`.
    """
    request = {"task": _tid(task), "runtime_ns": _ns(runtime), "period_ns": _ns(period),
               "inherit": bool(inherit)}
    return _parse(Grant, _call("reserve", request, "reserved"))


def query(task: Optional[int] = None) -> State:
    """The reservation of a thread, by default the calling thread, and the share of its user."""
    state = _call("query", {"task": _tid(task)}, "state")
    status, share = state.get("reservation"), state.get("share")
    return State(status and _parse(ReservationStatus, status), share and _parse(Share, share))


def release(task: Optional[int] = None) -> None:
    """Ends the reservation of a thread, by default the calling thread."""
    _call("release", {"task": _tid(task)}, "released")


def _tid(task: Optional[int]) -> int:
    return threading.get_native_id() if task is None else int(task)


def _ns(seconds: Seconds) -> int:
    ns = round(Fraction(seconds) * 1_000_000_000)
    if not 0 <= ns < 1 << 64:
        raise ValueError(f"{seconds} s is out of range")
    return ns


def _parse(kind: Type[T], fields: Dict[str, Any]) -> T:
    # Ignores keys that were added later.
    try:
        return kind(**{field.name: fields[field.name] for field in dataclass_fields(kind)})  # type: ignore[arg-type]
    except (KeyError, TypeError) as error:
        raise Error(f"invalid answer: {fields}") from error


def _call(name: str, request: Dict[str, Any], expected: str) -> Dict[str, Any]:
    path = os.environ.get("LAXITY_CPU_SOCKET") or SOCKET_PATH
    message = json.dumps({"version": VERSION, "request": {name: request}}).encode() + b"\n"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.settimeout(TIMEOUT)
        try:
            server.connect(path)
        except PermissionError as error:
            raise Unreachable(f"{path}: {error}; members of the socket's group may connect, "
                              "see `laxity cpu serve --group`") from error
        except OSError as error:
            raise Unreachable(f"{path}: {error}; is `laxity cpu serve` running?") from error
        line = b""
        try:
            try:
                server.sendall(message)
            except BrokenPipeError:
                pass  # It may have answered before it closed the connection.
            while not line.endswith(b"\n") and len(line) < MAX_LINE_BYTES:
                received = server.recv(MAX_LINE_BYTES)
                if not received:
                    break
                line += received
        except OSError as error:
            raise Unreachable(f"{path}: no answer arrived ({error})") from error
    if not line.endswith(b"\n"):
        raise Unreachable(f"{path}: no answer arrived")
    try:
        reply = json.loads(line)
        answer, version = reply["answer"], reply["version"]
        # A refusal has the same form in every version.
        if "refused" in answer:
            why = answer["refused"]
            ns = why.get("max_runtime_ns")
            max_runtime = None if ns is None else Fraction(ns, 1_000_000_000)
            raise Refused(why["text"], why["code"], max_runtime)
        if version != VERSION:
            raise Refused(f"the server speaks version {version} of the protocol, this client version "
                          f"{VERSION}", "version", None)
        result: Dict[str, Any] = answer[expected]
        return result
    # A deeply nested answer exceeds the recursion limit.
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Error(f"invalid answer: {line[:200]!r}") from error
