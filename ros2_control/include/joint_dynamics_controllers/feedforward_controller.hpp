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
#ifndef JOINT_DYNAMICS_CONTROLLERS__FEEDFORWARD_CONTROLLER_HPP_
#define JOINT_DYNAMICS_CONTROLLERS__FEEDFORWARD_CONTROLLER_HPP_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "control_msgs/msg/joint_trajectory_controller_state.hpp"
#include "controller_interface/chainable_controller_interface.hpp"
#include "joint_dynamics_controllers/feedforward_controller_parameters.hpp"
#include "joint_dynamics_controllers/guarded_law.hpp"
#include "joint_dynamics_controllers/law_host.hpp"
#include "rclcpp/rclcpp.hpp"
#include "realtime_tools/realtime_buffer.hpp"
#include "realtime_tools/realtime_publisher.hpp"
#include "sensor_msgs/msg/temperature.hpp"
#include "std_msgs/msg/float64_multi_array.hpp"
#include "std_msgs/msg/string.hpp"
#include "trajectory_msgs/msg/joint_trajectory_point.hpp"

namespace joint_dynamics_controllers
{
/// A joint_dynamics feedforward law as a chainable controller; see doc/userdoc.rst.
class FeedforwardController : public controller_interface::ChainableControllerInterface
{
public:
  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;

  controller_interface::CallbackReturn on_init() override;
  controller_interface::CallbackReturn on_configure(const rclcpp_lifecycle::State & state) override;
  controller_interface::CallbackReturn on_activate(const rclcpp_lifecycle::State & state) override;
  controller_interface::CallbackReturn on_deactivate(
    const rclcpp_lifecycle::State & state) override;
  controller_interface::CallbackReturn on_cleanup(const rclcpp_lifecycle::State & state) override;
  controller_interface::CallbackReturn on_error(const rclcpp_lifecycle::State & state) override;

  controller_interface::return_type update_reference_from_subscribers(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;
  controller_interface::return_type update_and_write_commands(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

protected:
  std::vector<hardware_interface::CommandInterface::SharedPtr>
  on_export_reference_interfaces_list() override;
  bool on_set_chained_mode(bool chained_mode) override;

private:
  using State = control_msgs::msg::JointTrajectoryControllerState;

  /// Values of a topic; `count` goes up with every message, so that a new one is known as such.
  struct Received
  {
    std::vector<double> values;
    std::size_t count = 0;
  };

  Values read_parameters();
  std::string read_description();
  void subscribe();
  void take_temperature(std::size_t joint, double value);
  void write_inputs(double time, double period);
  void write_states(double time);
  void take_references(double time);
  void write_slow(
    realtime_tools::RealtimeBuffer<Received> & source, std::size_t & seen, std::size_t first_row,
    std::size_t count, double time);
  void write_commands(const std::vector<double> & values);
  void publish(const rclcpp::Time & time);
  void report();
  double now(const rclcpp::Time & time);

  std::shared_ptr<feedforward_controller::ParamListener> listener_;
  feedforward_controller::Params params_;
  /// The states that are claimed: row of the law's array, name of the interface.
  std::vector<std::pair<StateRow, std::string>> states_;
  std::unique_ptr<LawHost> host_;
  GuardedLaw law_;
  GuardedLaw::Times times_;
  std::chrono::nanoseconds switch_timeout_{};

  // Of the real-time thread.
  rclcpp::Time began_;
  bool fresh_ = true;
  /// When the preceding controller desired a motion last, and when an effort.
  double reference_time_ = 0.0, effort_time_ = 0.0;
  std::vector<double> measured_, read_;
  std::size_t friction_seen_ = 0, temperature_seen_ = 0, reference_seen_ = 0;
  State state_;

  std::mutex update_mutex_;
  /// Whether the interfaces may be touched; under `update_mutex_`.
  bool active_ = false;

  realtime_tools::RealtimeBuffer<Received> friction_, temperature_, reference_;
  std::unique_ptr<realtime_tools::RealtimePublisher<State>> publisher_;
  // Of the callbacks.
  Received friction_received_, temperature_received_, reference_received_;
  std::vector<rclcpp::SubscriptionBase::SharedPtr> subscriptions_;

  std::mutex description_mutex_;
  std::condition_variable description_came_;
  std::string description_;

  // What the real-time thread tells the one that reports.
  std::atomic<Outcome> outcome_{Outcome::CLOSED};
  std::atomic<GuardedLaw::Phase> phase_{GuardedLaw::Phase::RUNNING};
  std::atomic<std::size_t> late_{0}, unwritten_{0};
  std::string reported_;
  std::size_t late_reported_ = 0;
  rclcpp::TimerBase::SharedPtr timer_;
};

}  // namespace joint_dynamics_controllers

#endif  // JOINT_DYNAMICS_CONTROLLERS__FEEDFORWARD_CONTROLLER_HPP_
