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

#ifndef JOINT_DYNAMICS_CONTROLLERS__SLOW_INPUTS_HPP_
#define JOINT_DYNAMICS_CONTROLLERS__SLOW_INPUTS_HPP_

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "joint_dynamics_controllers/feedforward_controller_parameters.hpp"
#include "joint_dynamics_controllers/torque_law.hpp"
#include "rclcpp_lifecycle/lifecycle_node.hpp"
#include "realtime_tools/realtime_buffer.hpp"
#include "sensor_msgs/msg/temperature.hpp"
#include "std_msgs/msg/float64_multi_array.hpp"

namespace joint_dynamics_controllers
{

/// α of the estimator and joint temperatures, from topics through realtime buffers.
class SlowInputs
{
public:
  /// Subscribes. The callbacks run one at a time, as those of a node do by default.
  /// @param adapts whether the law uses α
  SlowInputs(
    rclcpp_lifecycle::LifecycleNode & node, const feedforward_controller::Params & params, bool adapts);

  /// Writes the last values into `measured`; NaN before the first. For the real-time thread.
  void read(Measured & measured) noexcept;

  /// The inputs that are missing or old, in words; the law goes on with their last values. Empty for none.
  std::string missing() const;

private:
  using Time = std::chrono::steady_clock::time_point;

  void subscribe_to_alpha(rclcpp_lifecycle::LifecycleNode & node);
  void subscribe_to_temperatures(rclcpp_lifecycle::LifecycleNode & node);
  bool is_old(const std::optional<Time> & time) const;

  feedforward_controller::Params params_;
  realtime_tools::RealtimeBuffer<Alpha> alpha_;
  realtime_tools::RealtimeBuffer<Eigen::VectorXd> temperature_;
  // Of the callbacks.
  bool expects_alpha_;
  std::optional<Time> alpha_time_;
  Eigen::VectorXd received_;  // (n) °C
  std::vector<std::optional<Time>> temperature_times_;
  std::vector<rclcpp::SubscriptionBase::SharedPtr> subscriptions_;
};

}  // namespace joint_dynamics_controllers

#endif  // JOINT_DYNAMICS_CONTROLLERS__SLOW_INPUTS_HPP_
