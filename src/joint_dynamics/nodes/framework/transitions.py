"""What rclpy of Jazzy leaves open about the lifecycle.

A request that does not fit the present state, where it raises and so ends the process, is refused; the services of a
node that is destroyed, which it leaves to the garbage collector, end with the node.
"""

from __future__ import annotations

from typing import ClassVar

from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import ChangeState
from rclpy.lifecycle import Node


def refuse_unfit_transitions(node: Node) -> None:
    """Answer a request of `~/change_state` that the present state does not offer with success False.

    Stay in that state.

    rclpy triggers whatever it is asked for; a transition that is not there raises RCLError out of the executor.
    """
    service = node._service_change_state
    change_state = service.callback

    def respond(request: ChangeState.Request, response: ChangeState.Response) -> ChangeState.Response:
        offered = {label: number for number, label, *_ in node._state_machine.available_transitions}
        asked = request.transition
        if asked.label not in offered if asked.label else asked.id not in offered.values():
            state = node._state_machine.current_state[1]
            node.get_logger().error(
                f'transition {asked.label or asked.id}: expected one of {", ".join(offered) or "none"} in the state '
                f'{state}, stays there'
            )
            response.success = False
            return response
        if asked.label:
            request.transition.id, request.transition.label = offered[asked.label], ''
        return change_state(request, response)

    service.callback = respond


class Ended:
    """Stands where the state machine of a destroyed node was: reading that one would end the process."""

    initialized = False
    current_state = (State.PRIMARY_STATE_FINALIZED, 'finalized')
    available_states: ClassVar[tuple[()]] = ()
    available_transitions: ClassVar[tuple[()]] = ()
    transition_graph: ClassVar[tuple[()]] = ()


def end_state_machine(node: Node) -> None:
    """Destroy the lifecycle services and the publisher of transitions of a node that is destroyed.

    They belong to the state machine, which holds the node too, and with it the DDS participant. Left to the garbage
    collector all of them stay in the ROS graph, where others find services that nobody answers; and when they vanish
    together, later, Fast DDS can lose count of those that remain, whose clients then wait for good.
    """
    state_machine, node._state_machine = node._state_machine, Ended()
    if not isinstance(state_machine, Ended):
        state_machine.destroy_when_not_in_use()
