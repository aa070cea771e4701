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

#ifndef JOINT_DYNAMICS_CONTROLLERS__COMPENSATION_CHECK_HPP_
#define JOINT_DYNAMICS_CONTROLLERS__COMPENSATION_CHECK_HPP_

#include <Eigen/Core>

#include "dynamics_model/arm.hpp"

namespace joint_dynamics_controllers
{

/// Refuses a friction compensation that would make a joint run away [A §5.5].
///
/// Along the motion, at the speed limit (π rad/s where the URDF has none) and in each direction, the excess of the
/// compensation over the identified friction is
///
///     e = gain f(v) − (f(v) + α1 (F_C − F_C0) + (F_V1 − F_V1₀) v)
///
/// with F_C and F_V1 of that direction alone where the description states `directions`. One set of parameters cannot
/// compensate both. An excess within two standard deviations of the identified friction does not count.
/// @param description of `arm`
/// @param gain (n) `friction_gain`
/// @throws std::runtime_error with joint, direction and excess
void refuse_run_away(
  const joint_dynamics::Arm & arm, const joint_dynamics::Field & description, const Eigen::VectorXd & gain);

}  // namespace joint_dynamics_controllers

#endif  // JOINT_DYNAMICS_CONTROLLERS__COMPENSATION_CHECK_HPP_
