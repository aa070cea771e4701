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

#ifndef DYNAMICS_MODEL__ARM_IN_TEXT_HPP_
#define DYNAMICS_MODEL__ARM_IN_TEXT_HPP_

#include <string>

namespace joint_dynamics::test
{

/// A shoulder that turns about a level axis, and a slide along the upper arm.
const std::string URDF =
  R"(<robot name="two"><link name="base"/><link name="upper"><inertial><origin xyz="0.3 0 0"/><mass value="4"/>
  <inertia ixx="0.01" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link><link name="lower"><inertial>
  <origin xyz="0.1 0.02 0"/><mass value="2"/><inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/>
  </inertial></link><joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
  <limit lower="-2" upper="2" velocity="3" effort="150"/></joint><joint name="slide" type="prismatic">
  <parent link="upper"/><child link="lower"/><origin xyz="0.5 0 0" rpy="0 1.57 0"/><axis xyz="0 0 1"/>
  <limit lower="-0.2" upper="0.2" velocity="1" effort="80"/></joint></robot>)";

/// Its description: friction over speed, load and temperature with hysteresis, at the shoulder in quadrants.
const std::string DESCRIPTION =
  R"({format: joint_dynamics, version: 2, robot: {joint_names: [shoulder, slide]}, joints: {shoulder: {
  rotor_inertia: {value: 0.5}, drive_gain: {value: 8.0}, stiffness: {coefficients: [20000, 1.0e+9]},
  friction: {parameters: {F_C0: 5.0, F_V1: 4.0, F_T1: -0.1, T_0: 30.0}, scale: [9.0, 0.0],
  quadrants: {a_m: 1.1, b_m: 0.05, a_g: 0.95, b_g: 0.02, c_m: 3.0, d_m: 1.0, c_g: 3.0, d_g: 1.0, F_V: 4.0, dq_s: 0.05},
  maxwell_slip: {presliding: 0.001}}}, slide: {friction: {parameters: {F_C0: 3.0, F_S: 4.0, F_V1: 10.0},
  maxwell_slip: {presliding: 0.0005}}}}})";

}  // namespace joint_dynamics::test

#endif  // DYNAMICS_MODEL__ARM_IN_TEXT_HPP_
