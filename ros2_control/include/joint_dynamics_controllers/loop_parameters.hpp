// Copyright 2026 The joint_dynamics authors
// SPDX-License-Identifier: Apache-2.0
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
