# Calls of every kind against a server; run by programs.rs, as root or not.
import os
import socket
import tempfile
import threading
from fractions import Fraction

from laxity import reserve

MS = Fraction(1, 1000)

asked = reserve.reserve(2 * MS, 10 * MS, inherit=True)
assert asked == reserve.Reserved(cpu=0, runtime_ns=2_000_000, period_ns=10_000_000), asked
state = reserve.query()
assert state.reservation.runtime_ns == 2_000_000 and state.reservation.inherit is True, state
assert (state.share is None) == (os.geteuid() == 0), state


def refused(code, call, *arguments):
    try:
        call(*arguments)
    except reserve.Refused as why:
        assert why.code == code, (why.code, why)
        return why
    raise AssertionError(f"not refused: {code}")


def in_a_thread():
    # The process has one, this thread has none.
    assert reserve.query().reservation is None
    reserve.reserve(0.0001, 0.01)
    assert reserve.query(threading.get_native_id()).reservation.runtime_ns == 100_000


thread = threading.Thread(target=in_a_thread)
thread.start()
thread.join()
refused("has-one", reserve.reserve, MS, 10 * MS)
reserve.release(os.getpid())
refused("has-none", reserve.release)
too_much = refused("no-room" if os.geteuid() == 0 else "share", reserve.reserve, Fraction(1, 1), 1)
assert 0 < too_much.fits < 1 and str(too_much), too_much.fits
reserve.reserve(too_much.fits, 1)
reserve.release()
assert refused("unusable", reserve.reserve, 0, 1).fits is None
refused("no-task", reserve.query, 999_999_999)
for wrong in (-1, 10**12):
    try:
        reserve.reserve(wrong, 1)
        raise AssertionError(wrong)
    except ValueError:
        pass
# Fails when a server that nests its answer deeply ends the program.
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "deep.sock")
    with socket.socket(socket.AF_UNIX) as deep:
        deep.bind(path)
        deep.listen()

        def answer():
            client = deep.accept()[0]
            client.recv(4096)
            client.sendall(b"[" * 4095 + b"\n")
            client.close()

        thread = threading.Thread(target=answer)
        thread.start()
        os.environ["LAXITY_CPU_SOCKET"] = path
        try:
            reserve.query()
            raise AssertionError("an answer")
        except reserve.Error as why:
            assert "no answer" in str(why), why
        thread.join()
os.environ["LAXITY_CPU_SOCKET"] = "/nowhere/at/all"
try:
    reserve.query()
    raise AssertionError("no server")
except reserve.Unreachable as why:
    assert "laxity cpu serve" in str(why), why
print("all as it should be")
