"""Clusters as executors of `concurrent.futures`, for `laxity.sweep`. That of Dask is in `distributed`.

    ray.init(address="auto")
    laxity.sweep("sweep.toml", "results", executor=RayExecutor())
"""

from concurrent.futures import Executor, Future
from importlib import import_module
from typing import Any, Callable, TypeVar

__all__ = ["RayExecutor"]

T = TypeVar("T")


def _call(function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
    # Tasks of Ray are functions that are written in Python.
    return function(*args, **kwargs)


class _RayFuture(Future[T]):
    """The result of a task of Ray, which is cancelled with it."""

    def __init__(self, ray: Any, task: Any) -> None:
        super().__init__()
        self._ray, self._task = ray, task
        task.future().add_done_callback(self._settle)

    def _settle(self, done: "Future[T]") -> None:
        if self.set_running_or_notify_cancel():
            error = done.exception()
            if error is not None:
                self.set_exception(error)
            else:
                self.set_result(done.result())

    def cancel(self) -> bool:
        if not super().cancel():
            return False
        self._ray.cancel(self._task)
        return True


class RayExecutor(Executor):
    """Runs functions as tasks of the cluster to which `ray.init` has connected, with `options` of tasks, such as
    `num_cpus`. Ray runs a task again whose worker died."""

    def __init__(self, **options: Any) -> None:
        self._ray = import_module("ray")
        self._task = self._ray.remote(_call)
        if options:
            self._task = self._task.options(**options)

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> "Future[T]":
        """The future result of a call of `fn` on some worker."""
        return _RayFuture(self._ray, self._task.remote(fn, *args, **kwargs))
