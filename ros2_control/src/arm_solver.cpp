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

#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <inverse_dynamics_solver/exceptions.hpp>
#include <inverse_dynamics_solver/inverse_dynamics_solver.hpp>
#include <pluginlib/class_list_macros.hpp>
#include <rclcpp/parameter.hpp>

#include "dynamics_model/arm.hpp"

namespace joint_dynamics_controllers
{

/// The identified arm as a solver of the package `inverse_dynamics_solver`.
///
/// Parameters in the namespace given: `description_file` (path of the dynamics description), `joints` (the order of all
/// vectors; empty: that of the description), `mounting` (roll-pitch-yaw or quaternion, base to world; empty: the
/// description's); and `robot_description` outside it, where `initialize` is given no URDF. Torques are those of the
/// motors [N·m]: the inertia matrix holds the rotors, the friction is that of steady slip without load at T0.
class ArmSolver : public inverse_dynamics_solver::InverseDynamicsSolver
{
public:
  void initialize(
    rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr parameters, const std::string & param_namespace,
    const std::string & robot_description) override
  {
    if (!parameters) {
      throw inverse_dynamics_solver::ParameterUninitializedException("description_file");
    }
    const std::string prefix = param_namespace.empty() ? "" : param_namespace + ".";
    const auto urdf = robot_description.empty() ? needed<std::string>(*parameters, "robot_description") :
      robot_description;
    const std::string path = needed<std::string>(*parameters, prefix + "description_file");
    std::ifstream file(path);
    std::stringstream text;
    if (!(file && text << file.rdbuf())) {
      throw inverse_dynamics_solver::InvalidParameterValueException(
              prefix + "description_file: expected a readable dynamics description, found none at '" + path + "'");
    }
    joint_dynamics::ArmOptions options;
    options.mounting = optional<std::vector<double>>(*parameters, prefix + "mounting");
    const auto joints = optional<std::vector<std::string>>(*parameters, prefix + "joints");
    try {
      arm_ = std::make_unique<joint_dynamics::Arm>(urdf, text.str(), joints, options);
    } catch (const std::runtime_error & error) {
      throw inverse_dynamics_solver::InvalidParameterValueException(error.what());
    }
  }

  /// M(q) (n, n) [kg·m²] with rotors.
  Eigen::MatrixXd getInertiaMatrix(const Eigen::VectorXd & q) const override
  {
    check(q);
    Eigen::MatrixXd matrix(arm_->size(), arm_->size());
    arm_->inertia(q, matrix);
    return matrix;
  }

  /// C(q, q̇) q̇ (n) [N·m].
  Eigen::VectorXd getCoriolisVector(const Eigen::VectorXd & q, const Eigen::VectorXd & dq) const override
  {
    check(q);
    check(dq);
    Eigen::VectorXd torque(arm_->size());
    arm_->link_torque(q, dq, Eigen::VectorXd::Zero(arm_->size()), torque);
    return torque - getGravityVector(q);
  }

  /// g(q) (n) [N·m].
  Eigen::VectorXd getGravityVector(const Eigen::VectorXd & q) const override
  {
    check(q);
    Eigen::VectorXd torque(arm_->size());
    arm_->gravity(q, torque);
    return torque;
  }

  /// f(q̇) (n) [N·m], hysteresis fully deformed.
  Eigen::VectorXd getFrictionVector(const Eigen::VectorXd & dq) const override
  {
    check(dq);
    const Eigen::VectorXd still = Eigen::VectorXd::Zero(dq.size()), unknown =
      Eigen::VectorXd::Constant(dq.size(), std::numeric_limits<double>::quiet_NaN());
    Eigen::VectorXd torque(arm_->size());
    arm_->friction_torque(dq.array().sign().matrix(), dq, still, unknown, torque);
    return torque;
  }

private:
  template<typename T>
  static T optional(const rclcpp::node_interfaces::NodeParametersInterface & parameters, const std::string & name)
  {
    rclcpp::Parameter parameter;
    return parameters.get_parameter(name, parameter) ? parameter.get_value<T>() : T();
  }

  template<typename T>
  static T needed(const rclcpp::node_interfaces::NodeParametersInterface & parameters, const std::string & name)
  {
    if (!parameters.has_parameter(name)) {
      throw inverse_dynamics_solver::ParameterUninitializedException(name);
    }
    return optional<T>(parameters, name);
  }

  void check(const Eigen::VectorXd & values) const
  {
    if (!arm_) {
      throw inverse_dynamics_solver::UninitializedException();
    }
    if (values.size() != arm_->size()) {
      throw inverse_dynamics_solver::InvalidParameterValueException(
              "expected " + std::to_string(arm_->size()) + " joints, found " + std::to_string(values.size()));
    }
  }

  std::unique_ptr<joint_dynamics::Arm> arm_;
};

}  // namespace joint_dynamics_controllers

PLUGINLIB_EXPORT_CLASS(joint_dynamics_controllers::ArmSolver, inverse_dynamics_solver::InverseDynamicsSolver)
