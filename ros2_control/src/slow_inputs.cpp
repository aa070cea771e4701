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

#include "joint_dynamics_controllers/slow_inputs.hpp"

#include <algorithm>

namespace joint_dynamics_controllers
{

SlowInputs::SlowInputs(
  rclcpp_lifecycle::LifecycleNode & node, const feedforward_controller::Params & params, bool adapts)
: params_(params), expects_alpha_(adapts && !params.friction_topic.empty())
{
  const Measured unknown(static_cast<Eigen::Index>(params.joints.size()));
  alpha_.initRT(unknown.alpha);
  temperature_.initRT(unknown.temperature);
  received_ = unknown.temperature;
  temperature_times_.resize(params.joints.size());
  if (expects_alpha_) {
    subscribe_to_alpha(node);
  }
  subscribe_to_temperatures(node);
}

void SlowInputs::subscribe_to_alpha(rclcpp_lifecycle::LifecycleNode & node)
{
  subscriptions_.push_back(node.create_subscription<std_msgs::msg::Float64MultiArray>(
      params_.friction_topic, rclcpp::QoS(10),
      [this, logger = node.get_logger()](const std_msgs::msg::Float64MultiArray & message) {
        if (message.data.size() != 2 * params_.joints.size()) {
          RCLCPP_ERROR(
            logger, "friction_topic: expected %zu rows of 2, found %zu values", params_.joints.size(),
            message.data.size());
          return;
        }
        alpha_.writeFromNonRT(Eigen::Map<const Alpha>(message.data.data(), received_.size(), 2));
        alpha_time_ = std::chrono::steady_clock::now();
      }));
}

void SlowInputs::subscribe_to_temperatures(rclcpp_lifecycle::LifecycleNode & node)
{
  const std::string mark = "{joint}";
  for (const auto & pattern : params_.temperature_topics) {
    const auto place = pattern.find(mark);
    const bool shared = place == std::string::npos;  // one topic for all joints: `frame_id` names the joint
    for (std::size_t k = 0; k < (shared ? 1 : params_.joints.size()); ++k) {
      std::string topic = pattern;
      if (!shared) {
        topic.replace(place, mark.size(), params_.joints[k]);
      }
      subscriptions_.push_back(node.create_subscription<sensor_msgs::msg::Temperature>(
          topic, rclcpp::SensorDataQoS(),
          [this, k, shared](const sensor_msgs::msg::Temperature & message) {
            const auto & joints = params_.joints;
            const auto match = std::find(joints.begin(), joints.end(), message.header.frame_id);
            const auto joint = shared ? static_cast<std::size_t>(match - joints.begin()) : k;
            if (joint < joints.size()) {
              received_[static_cast<Eigen::Index>(joint)] = message.temperature;
              temperature_times_[joint] = std::chrono::steady_clock::now();
              temperature_.writeFromNonRT(received_);
            }
          }));
    }
  }
}

void SlowInputs::read(Measured & measured) noexcept
{
  measured.alpha = *alpha_.readFromRT();
  if (params_.temperature_interface.empty()) {
    measured.temperature = *temperature_.readFromRT();
  }
}

bool SlowInputs::is_old(const std::optional<Time> & time) const
{
  return !time || std::chrono::steady_clock::now() - *time > std::chrono::duration<double>(params_.slow_timeout);
}

std::string SlowInputs::missing() const
{
  if (expects_alpha_ && is_old(alpha_time_)) {
    const std::string effect = alpha_time_ ? "any more: friction with the last one" : "yet: friction as described";
    return "no α of the estimator on " + params_.friction_topic + " " + effect +
           "; without an estimator, set friction_topic to ''";
  }
  for (std::size_t k = 0; !params_.temperature_topics.empty() && k < params_.joints.size(); ++k) {
    if (is_old(temperature_times_[k])) {
      return "no temperature of " + params_.joints[k] + " on temperature_topics: the last one counts, at first T_0";
    }
  }
  return "";
}

}  // namespace joint_dynamics_controllers
