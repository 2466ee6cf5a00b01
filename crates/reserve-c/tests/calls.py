# Calls every function of the client; run by programs.rs, as root or another user.
import os
import socket
import tempfile
import threading
from fractions import Fraction

from laxity import reserve

MS = Fraction(1, 1000)

grant = reserve.reserve(2 * MS, 10 * MS, inherit=True)
assert grant == reserve.Grant(cpu=0, runtime_ns=2_000_000, period_ns=10_000_000), grant
state = reserve.query()
assert state.reservation.runtime_ns == 2_000_000 and state.reservation.inherit is True, state
assert state.reservation.deadline_misses == state.reservation.max_lateness_ns == 0, state
assert (state.share is None) == (os.geteuid() == 0), state


def refused(code, call, *arguments):
    try:
        call(*arguments)
    except reserve.Refused as why:
        assert why.code == code, (why.code, why)
        return why
    raise AssertionError(f"not refused: {code}")


def in_a_thread():
    # The first thread is reserved, this thread is not.
    assert reserve.query().reservation is None
    reserve.reserve(0.0001, 0.01)
    assert reserve.query(threading.get_native_id()).reservation.runtime_ns == 100_000


thread = threading.Thread(target=in_a_thread)
thread.start()
thread.join()
refused("already-reserved", reserve.reserve, MS, 10 * MS)
reserve.release(os.getpid())
refused("not-reserved", reserve.release)
too_much = refused("no-room" if os.geteuid() == 0 else "share", reserve.reserve, Fraction(1, 1), 1)
assert 0 < too_much.max_runtime < 1 and str(too_much), too_much.max_runtime
reserve.reserve(too_much.max_runtime, 1)
reserve.release()
assert refused("invalid", reserve.reserve, 0, 1).max_runtime is None
refused("no-task", reserve.query, 999_999_999)
for wrong in (-1, 10**12):
    try:
        reserve.reserve(wrong, 1)
        raise AssertionError(wrong)
    except ValueError:
        pass


def query_with_answer(line):
    """The error of a query that a fake server answers with a line."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "fake.sock")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            server.listen()

            def answer():
                client = server.accept()[0]
                client.recv(4096)
                client.sendall(line + b"\n")
                client.close()

            thread = threading.Thread(target=answer)
            thread.start()
            os.environ["LAXITY_CPU_SOCKET"] = path
            try:
                reserve.query()
                raise AssertionError("an answer")
            except reserve.Error as why:
                return why
            finally:
                thread.join()


# Fails when a deeply nested answer ends the program.
nested = query_with_answer(b"[" * 4095)
assert "invalid answer" in str(nested), nested
# Fails when an answer of another version is accepted, or a refusal of another version is lost.
other = query_with_answer(b'{"version":1,"answer":{"state":{"reservation":null,"share":null}}}')
assert isinstance(other, reserve.Refused) and other.code == "version", other
assert str(other) == "the server speaks version 1 of the protocol, this client version 2", other
old = query_with_answer(b'{"version":1,"answer":{"refused":{"code":"version","text":"not 2"}}}')
assert str(old) == "not 2" and old.code == "version", old
os.environ["LAXITY_CPU_SOCKET"] = "/nowhere/at/all"
try:
    reserve.query()
    raise AssertionError("no server")
except reserve.Unreachable as why:
    assert "laxity cpu serve" in str(why), why
print("passed")
