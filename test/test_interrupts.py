"""A signal interrupts where an exception can be passed on, and nowhere else; none is lost."""

import os
import signal
import threading
import time

import pytest

from joint_dynamics.interrupts import held_back, terminated_like_interrupted


def test_sigterm_reaches_finally():
    reached = []

    def wait():
        with terminated_like_interrupted():
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(600)
            finally:
                reached.append(True)

    with pytest.raises(KeyboardInterrupt):
        wait()
    assert reached
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_is_handed_on_after_the_block(number):
    done = []

    def work():
        with terminated_like_interrupted(), held_back():
            signal.raise_signal(number)
            signal.raise_signal(number)
            done.append(True)

    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt):
        work()
    assert done
    assert signal.getsignal(number) is before


def test_what_the_block_raises_does_not_swallow_the_signal():
    def work():
        with held_back():
            signal.raise_signal(signal.SIGINT)
            raise ValueError

    with pytest.raises(KeyboardInterrupt):
        work()


def test_signals_that_nobody_has_taken_stay_so():
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    with held_back():
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_in_another_thread_nothing_changes():
    seen = []

    def work():
        with held_back():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]
