"""Worker processes that never outlive the process that started them."""

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress

# Seconds between two looks at whether the parent process is still there.
WATCH_SECONDS = 0.5
_PR_SET_PDEATHSIG = 1


@contextmanager
def worker_pool(jobs, initializer=None, initargs=()):
    """A pool of processes, ended at once when the block is left by an exception.

    The workers also end within a second when their parent is killed, whatever the signal, and with
    them the resource tracker of multiprocessing. They ignore Ctrl-C: their parent ends them.

    Parameters
    ----------
    jobs : int
        Number of processes.
    initializer : callable, default=None
        Called in each process before its first task.
    initargs : tuple, default=()
        Arguments of it.

    Yields
    ------
    pool : concurrent.futures.ProcessPoolExecutor
        The pool.
    end : callable
        Stops the workers now, also in the middle of a task.
    """
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        jobs,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start,
        # As bytes: reading them imports much, and a worker must watch its parent before that.
        initargs=(os.getpid(), pickle.dumps((initializer, initargs))),
    )

    def end():
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()

    try:
        with _interrupts_blocked():  # the processes inherit this
            for _ in range(jobs):
                pool.submit(int)  # starts one of them
        yield pool, end
    except BaseException:
        end()
        raise
    pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _interrupts_blocked():
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # its start would lift the block
    old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)


def _start(parent, work):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent(parent)
    initializer, initargs = pickle.loads(work)
    if initializer is not None:
        initializer(*initargs)


def end_with_parent(parent):
    """Let this process end when its parent process has ended.

    On Linux the kernel sends the signal. A thread looks at the parent's id besides, for other
    systems and for a parent that ended before the kernel was asked.

    Parameters
    ----------
    parent : int
        Process id of the parent.
    """
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent):
    while os.getppid() == parent:
        time.sleep(WATCH_SECONDS)
    os._exit(1)
