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

#ifndef JOINT_DYNAMICS_CONTROLLERS__LOOP_PARAMETERS_HPP_
#define JOINT_DYNAMICS_CONTROLLERS__LOOP_PARAMETERS_HPP_

#include <string>

#include "joint_dynamics_controllers/control_loop.hpp"
#include "joint_dynamics_controllers/feedforward_controller_parameters.hpp"
#include "rclcpp_lifecycle/lifecycle_node.hpp"

namespace joint_dynamics_controllers
{

/// Whether the law uses α of the estimator.
bool adapts(const feedforward_controller::Params & params);

/// Makes the loop from the parameters of a node; those per joint, `<name>.<joint>`, are declared and read here.
/// @param robot text of the URDF; @param description text of the dynamics description, empty: none
/// @throws std::runtime_error with parameter or field, what was expected there and what was found
ControlLoop loop_from_parameters(
  rclcpp_lifecycle::LifecycleNode & node, const feedforward_controller::Params & params, const std::string & robot,
  const std::string & description);

}  // namespace joint_dynamics_controllers

#endif  // JOINT_DYNAMICS_CONTROLLERS__LOOP_PARAMETERS_HPP_
