// Copyright 2026 The joint_dynamics authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

#ifndef ARM_OF_TESTS_HPP_
#define ARM_OF_TESTS_HPP_

#include <string>
#include <vector>

#include <Eigen/Core>

#include "joint_dynamics_controllers/control_loop.hpp"

namespace joint_dynamics_controllers
{

/// An arm of two joints in a vertical plane, with rotors, hysteresis and stiffness.
constexpr char ROBOT[] =
  "<robot name='arm'><link name='base'/>"
  "<link name='upper'><inertial><mass value='4'/><origin xyz='0.2 0 0'/>"
  "<inertia ixx='0.01' iyy='0.05' izz='0.05' ixy='0' ixz='0' iyz='0'/></inertial></link>"
  "<link name='lower'><inertial><mass value='2'/><origin xyz='0.15 0 0'/>"
  "<inertia ixx='0.005' iyy='0.02' izz='0.02' ixy='0' ixz='0' iyz='0'/></inertial></link>"
  "<joint name='shoulder' type='revolute'><parent link='base'/><child link='upper'/>"
  "<axis xyz='0 1 0'/><limit lower='-3' upper='3' effort='80' velocity='3'/></joint>"
  "<joint name='elbow' type='revolute'><parent link='upper'/><child link='lower'/><origin xyz='0.4 0 0'/>"
  "<axis xyz='0 1 0'/><limit lower='-2.5' upper='2.5' effort='30' velocity='4'/></joint></robot>";

constexpr char DESCRIPTION[] = R"(
format: joint_dynamics
version: 2
robot: {joint_names: [shoulder, elbow]}
joints:
  shoulder:
    rotor_inertia: {value: 0.9}
    drive_gain: {value: 12.0}
    friction:
      parameters: {F_C0: 7.0, F_C1: 0.001, F_V1: 6.0, F_T1: -0.05, T_0: 30.0, T_min: 20.0, T_max: 45.0}
      maxwell_slip: {operators: 4, presliding: 0.0005}
    stiffness: {coefficients: [20000.0, 1.0e+8]}
  elbow:
    rotor_inertia: {value: 0.3}
    drive_gain: {value: 10.0}
    friction:
      parameters: {F_C0: 2.0, F_C1: 0.001, F_V1: 2.0, F_T1: -0.05, T_0: 30.0, T_min: 20.0, T_max: 45.0}
      maxwell_slip: {operators: 4, presliding: 0.0005}
    stiffness: {coefficients: [6000.0, 1.0e+8]}
)";

inline joint_dynamics::Arm arm_of_tests(const joint_dynamics::ArmOptions & options = {})
{
  return joint_dynamics::Arm(ROBOT, DESCRIPTION, {"shoulder", "elbow"}, options);
}

inline Eigen::VectorXd both(double first, double second) {return Eigen::Vector2d(first, second);}

/// Gains that the delay of a manager at 100 Hz leaves stable; no torque loop.
inline TorqueLaw::Settings law_settings(bool feedback)
{
  TorqueLaw::Settings settings;
  settings.feedback = feedback;
  settings.kp = both(100.0, 100.0);
  settings.kd = both(20.0, 20.0);
  settings.ki = both(50.0, 50.0);
  settings.integral_limit = both(5.0, 5.0);
  settings.torque_gain = settings.torque_limit = both(0.0, 0.0);
  return settings;
}

inline ControlLoop::Settings loop_settings()
{
  ControlLoop::Settings settings;
  settings.effort_limit = both(std::numeric_limits<double>::infinity(), 20.0);
  settings.effort_rate = both(0.0, 0.0);
  return settings;
}

/// A state at rest at q [rad], and the desire to stay there.
struct Still
{
  explicit Still(const Eigen::VectorXd & q)
  : measured(q.size()), desired(q.size())
  {
    measured.position = desired.position = q;
    measured.velocity = desired.velocity = desired.acceleration = Eigen::VectorXd::Zero(q.size());
  }

  Measured measured;
  Desired desired;
};

}  // namespace joint_dynamics_controllers

#endif  // ARM_OF_TESTS_HPP_
