"""Processes that fit one job after the other and are killed when one takes too long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing import get_context
from threading import local
from typing import Any


def _serve(pipe, task: Callable[[Any], Any]) -> None:
    """Answer jobs until the other end closes."""
    try:
        while True:
            pipe.send(task(pipe.recv()))
    except (EOFError, KeyboardInterrupt):
        return


class Worker:
    """One child process. A fresh interpreter, since compiled kernels and thread pools do not survive a fork."""

    def __init__(self, task: Callable[[Any], Any]):
        self.task = task
        self._start()

    def _start(self) -> None:
        context = get_context("spawn")
        self.pipe, far_end = context.Pipe()
        self.process = context.Process(target=_serve, args=(far_end, self.task), daemon=True)
        self.process.start()
        far_end.close()

    def ask(self, job: Any, limit: float) -> tuple[str, Any]:
        """("ok", answer), or why there is none; then the child is a new one."""
        self.pipe.send(job)
        if self.pipe.poll(limit):
            try:
                return "ok", self.pipe.recv()
            except EOFError:
                reason = "died"
        else:
            reason = "timeout"
        self.close()
        self._start()
        return reason, None

    def close(self) -> None:
        self.pipe.close()
        self.process.kill()
        self.process.join()


def over_all(
    task: Callable[[Any], Any], jobs: list, n_processes: int, limit: float, wanted: Callable[[Any], bool]
) -> Iterator[tuple[Any, str, Any]]:
    """(job, status, answer) of every job that is still ``wanted`` when its turn comes, as they end."""
    own, workers = local(), []

    def one(job):
        if not wanted(job):
            return None
        if not hasattr(own, "worker"):
            own.worker = Worker(task)
            workers.append(own.worker)
        return own.worker.ask(job, limit)

    executor = ThreadPoolExecutor(n_processes)
    try:
        futures = {executor.submit(one, job): job for job in jobs}
        for future in as_completed(futures):
            if future.result() is not None:
                yield futures[future], *future.result()
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.close()
