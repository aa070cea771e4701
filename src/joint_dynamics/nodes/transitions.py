"""Lifecycle requests that do not fit the present state are refused.

Where rclpy of Jazzy raises and so ends the process.
"""

from __future__ import annotations

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
