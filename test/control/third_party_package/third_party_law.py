"""The smallest controller there is: a spring to the desired position."""

from joint_dynamics.control import Controller, ControllerParameter, InterfaceConfiguration


class Spring(Controller):
    """Torque = −stiffness (q − q_d)."""

    PARAMETERS = (ControllerParameter('stiffness', 10.0, 'of the spring', 'N·m/rad', 0.0, 1e4, per_joint=True),)

    def on_configure(self, setup):
        """Take the parameters."""
        self._joint_names = setup.arm.joint_names
        self._stiffness = setup.parameters['stiffness']

    def command_interface_configuration(self):
        """Torque of every joint."""
        return InterfaceConfiguration.individual(self.joint_names, ['effort'])

    def state_interface_configuration(self):
        """Position of every joint."""
        return InterfaceConfiguration.individual(self.joint_names, ['position'])

    def reference_interface_configuration(self):
        """Position only."""
        return InterfaceConfiguration.individual(self.joint_names, ['position'])

    def update(self, time, period):
        """Write the torque."""
        self.command['effort'] = self._stiffness * (self.reference['position'] - self.state['position'])
