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

#include "joint_dynamics_controllers/loop_parameters.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "joint_dynamics_controllers/compensation_check.hpp"

namespace joint_dynamics_controllers
{
namespace
{

constexpr double NONE = std::numeric_limits<double>::quiet_NaN();
constexpr double INF = std::numeric_limits<double>::infinity();
constexpr std::array PER_JOINT = {
  "effort_limit", "effort_rate", "kp", "kd", "ki", "integral_limit", "friction_gain", "torque_gain"};
constexpr std::array REMOVED = {
  "law_priority", "law_cpu", "python", "step_timeout", "late_timeout", "motor_position_interface",
  "motor_velocity_interface", "feedback_side", "torque_source"};

/// Refuses parameters that 0.3.0 removed, and values under a name that is no joint: they would be ignored.
void refuse_unknown_parameters(rclcpp_lifecycle::LifecycleNode & node, const std::vector<std::string> & joints)
{
  for (const auto & item : node.get_node_parameters_interface()->get_parameter_overrides()) {
    const std::string & name = item.first;
    if (std::find(REMOVED.begin(), REMOVED.end(), name) != REMOVED.end()) {
      throw std::runtime_error(name + ": no parameter since 0.3.0, as the law is a part of update(); remove it");
    }
    const auto dot = name.find('.');
    if (std::find(PER_JOINT.begin(), PER_JOINT.end(), name.substr(0, dot)) == PER_JOINT.end()) {
      continue;
    }
    const std::string joint = dot == std::string::npos ? "" : name.substr(dot + 1);
    if (std::find(joints.begin(), joints.end(), joint) == joints.end()) {
      throw std::runtime_error(
              name + ": expected a value per joint, " + name.substr(0, dot) + "." + joints[0] +
              ", found no such joint among joints");
    }
  }
}

/// Reads a parameter of every joint, `<name>.<joint>`.
class PerJoint
{
public:
  PerJoint(rclcpp_lifecycle::LifecycleNode & node, const std::vector<std::string> & joints)
  : node_(node), joints_(joints) {}

  /// (n) Values, each within [lower, upper].
  Eigen::VectorXd operator()(const char * name, double otherwise, double lower, double upper) const
  {
    Eigen::VectorXd values(static_cast<Eigen::Index>(joints_.size()));
    for (std::size_t k = 0; k < joints_.size(); ++k) {
      const std::string full = name + ("." + joints_[k]);
      if (!node_.has_parameter(full)) {
        rcl_interfaces::msg::ParameterDescriptor descriptor;
        descriptor.dynamic_typing = true;  // a number may be written as a whole one
        node_.declare_parameter(full, rclcpp::ParameterValue(otherwise), descriptor);
      }
      const rclcpp::Parameter given = node_.get_parameter(full);
      const double value = given.get_type() == rclcpp::PARAMETER_DOUBLE ? given.as_double() :
        given.get_type() == rclcpp::PARAMETER_INTEGER ? static_cast<double>(given.as_int()) : NONE;
      if (!(lower <= value && value <= upper)) {
        std::ostringstream text;
        text << full << ": expected a number from " << lower << " to " << upper << ", found "
             << given.value_to_string();
        throw std::runtime_error(text.str());
      }
      values[static_cast<Eigen::Index>(k)] = value;
    }
    return values;
  }

private:
  rclcpp_lifecycle::LifecycleNode & node_;
  const std::vector<std::string> & joints_;
};

joint_dynamics::FrictionMode friction_mode(const feedforward_controller::Params & params)
{
  const std::string own = params.law == "adaptive_friction" ? "hysteresis" : "none";
  const std::string chosen = params.friction == "default" ? own : params.friction;
  return chosen == "hysteresis" ? joint_dynamics::FrictionMode::hysteresis :
         chosen == "static" ? joint_dynamics::FrictionMode::static_map : joint_dynamics::FrictionMode::none;
}

joint_dynamics::Arm arm_from(
  const PerJoint & per_joint, const feedforward_controller::Params & params, const std::string & robot,
  const joint_dynamics::Field & description)
{
  joint_dynamics::ArmOptions options;
  options.mounting = params.mounting;
  options.payload_mass = params.payload_mass;
  std::copy_n(params.payload_center.begin(), 3, options.payload_center.begin());
  options.gravity = params.gravity;
  options.current = params.output == "current";
  options.friction = friction_mode(params);
  const Eigen::VectorXd gain = per_joint("friction_gain", 1.0, 0.0, 1.5);
  options.friction_gain.assign(gain.begin(), gain.end());
  options.rest_gain = params.rest_gain;
  options.friction_smoothing = params.friction_smoothing;
  std::copy_n(params.alpha_lower.begin(), 2, options.alpha_lower.begin());
  std::copy_n(params.alpha_upper.begin(), 2, options.alpha_upper.begin());
  options.viscous_share = params.viscous_share;
  joint_dynamics::Arm arm(robot, description, params.joints, options);
  if (params.check_compensation && options.friction != joint_dynamics::FrictionMode::none) {
    refuse_run_away(arm, description, gain);
  }
  return arm;
}

TorqueLaw::Settings law_from(
  const PerJoint & per_joint, const feedforward_controller::Params & params, const joint_dynamics::Arm & arm)
{
  TorqueLaw::Settings law;
  law.adapts = adapts(params);
  law.feedback = params.feedback;
  law.kp = per_joint("kp", 0.0, 0.0, 1e5);
  law.kd = per_joint("kd", 0.0, 0.0, 1e3);
  law.ki = per_joint("ki", 0.0, 0.0, 1e6);
  law.integral_limit = per_joint("integral_limit", 5.0, 0.0, 1e4);
  law.torque_gain = per_joint("torque_gain", 0.0, 0.0, 10.0);
  law.torque_limit = params.torque_limit * arm.limits().effort;
  if ((law.torque_gain.array() > 0.0).any() && params.torque_interface.empty()) {
    throw std::runtime_error("torque_gain: expected a torque_interface, found none");
  }
  return law;
}

ControlLoop::Settings settings_from(const PerJoint & per_joint, const feedforward_controller::Params & params)
{
  ControlLoop::Settings settings;
  settings.effort_limit = per_joint("effort_limit", 0.0, 0.0, 1e5);
  settings.effort_limit = (settings.effort_limit.array() > 0.0).select(settings.effort_limit, INF);
  settings.effort_rate = per_joint("effort_rate", 0.0, 0.0, 1e7);
  settings.ramp_time = params.ramp_time;
  settings.handover_time = params.handover_time;
  settings.timeout = params.timeout;
  settings.tracking_tolerance = params.tracking_tolerance;
  settings.velocity_margin = params.velocity_margin;
  settings.position_margin = params.position_margin;
  settings.jump_margin = params.jump_margin;
  settings.safe_is_gravity = params.safe_command == "gravity";
  settings.holds_gravity = params.gravity;
  return settings;
}

}  // namespace

bool adapts(const feedforward_controller::Params & params)
{
  return params.law == "adaptive_friction" && friction_mode(params) != joint_dynamics::FrictionMode::none;
}

ControlLoop loop_from_parameters(
  rclcpp_lifecycle::LifecycleNode & node, const feedforward_controller::Params & params, const std::string & robot,
  const std::string & description)
{
  refuse_unknown_parameters(node, params.joints);
  const PerJoint per_joint(node, params.joints);
  const joint_dynamics::Field document =
    description.empty() ? joint_dynamics::Field() : joint_dynamics::Field::parse(description);
  joint_dynamics::Arm arm = arm_from(per_joint, params, robot, document);
  const TorqueLaw::Settings law = law_from(per_joint, params, arm);
  return ControlLoop(TorqueLaw(std::move(arm), law), settings_from(per_joint, params));
}

}  // namespace joint_dynamics_controllers
