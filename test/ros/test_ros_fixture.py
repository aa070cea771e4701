"""One test that goes wrong does not take those after it along: the fixture `ros` leaves nothing open."""

import sys

import pytest

rclpy = pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)


def test_where_rclpy_is_initialised_already_only_this_test_fails(ros):
    with pytest.raises(RuntimeError, match='only be called once'):
        type(ros)()
    assert not rclpy.ok()


def test_a_process_that_ends_badly_fails_the_test_and_everything_else_is_closed(ros):
    patient = 'import signal; signal.signal(2, lambda *_: exit(0)); print("ready"); signal.pause()'
    other = ros.start([sys.executable, '-c', patient], 'other')
    ros.until(lambda: 'ready' in other.output)
    bad = ros.start([sys.executable, '-c', 'raise SystemExit(3)'], 'bad')
    bad.ended()
    with pytest.raises(AssertionError, match='bad ended with 3'):
        ros.close()
    assert other.poll() is not None
    assert not rclpy.ok()
