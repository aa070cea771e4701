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
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control_msgs/msg/joint_trajectory_controller_state.hpp"
#include "controller_interface/chainable_controller_interface.hpp"
#include "joint_dynamics_controllers/control_loop.hpp"
#include "joint_dynamics_controllers/feedforward_controller_parameters.hpp"
#include "joint_dynamics_controllers/slow_inputs.hpp"
#include "rclcpp/rclcpp.hpp"
#include "realtime_tools/realtime_buffer.hpp"
#include "realtime_tools/realtime_publisher.hpp"
#include "realtime_tools/realtime_thread_safe_box.hpp"
#include "std_msgs/msg/string.hpp"
#include "trajectory_msgs/msg/joint_trajectory_point.hpp"

namespace joint_dynamics_controllers
{

/// `ControlLoop` as a chainable controller: interfaces, topics, parameters and lifecycle; see doc/userdoc.rst.
class FeedforwardController : public controller_interface::ChainableControllerInterface
{
public:
  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;

  controller_interface::CallbackReturn on_init() override;
  controller_interface::CallbackReturn on_configure(const rclcpp_lifecycle::State & state) override;
  controller_interface::CallbackReturn on_activate(const rclcpp_lifecycle::State & state) override;
  controller_interface::CallbackReturn on_deactivate(const rclcpp_lifecycle::State & state) override;
  controller_interface::CallbackReturn on_cleanup(const rclcpp_lifecycle::State & state) override;
  controller_interface::CallbackReturn on_error(const rclcpp_lifecycle::State & state) override;

  controller_interface::return_type update_reference_from_subscribers(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;
  controller_interface::return_type update_and_write_commands(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

protected:
  std::vector<hardware_interface::CommandInterface::SharedPtr> on_export_reference_interfaces_list() override;
  bool on_set_chained_mode(bool chained_mode) override;

private:
  using State = control_msgs::msg::JointTrajectoryControllerState;

  /// Point of `~/joint_references`; `count` goes up with every message, so each is taken once.
  struct Point
  {
    Desired desired{0};
    std::size_t count = 0;
  };
  /// What the real-time thread tells the one that reports.
  struct Report
  {
    bool active = false;
    Fault fault;
  };

  std::string read_description();
  void subscribe();
  void prepare_state();

  void read_states();
  void take_references(double time);
  void write_commands(const Eigen::VectorXd & values);
  void publish(const rclcpp::Time & time);
  void report();
  double since_activation(const rclcpp::Time & time);

  std::shared_ptr<feedforward_controller::ParamListener> listener_;
  feedforward_controller::Params params_;
  /// States that are claimed: where they go, name of the interface.
  std::vector<std::pair<Eigen::VectorXd Measured::*, std::string>> states_;
  std::optional<ControlLoop> loop_;

  // Of the real-time thread.
  Measured measured_{0};
  Desired desired_{0}, written_{0};
  double motion_time_ = 0.0, effort_time_ = 0.0;  // s, when each was desired last; NaN: never
  std::optional<rclcpp::Time> began_;
  std::size_t point_seen_ = 0;
  State state_;

  std::mutex update_mutex_;
  bool active_ = false;  // whether the interfaces may be touched; under `update_mutex_`

  std::optional<SlowInputs> slow_inputs_;
  realtime_tools::RealtimeBuffer<Point> point_;
  realtime_tools::RealtimeThreadSafeBox<Report> report_;
  std::unique_ptr<realtime_tools::RealtimePublisher<State>> publisher_;
  std::shared_ptr<rclcpp::Publisher<State>> states_out_;  // its publisher
  // Whether a node subscribes to `~/controller_state`. Waking the publisher's thread takes longer than the law.
  std::atomic<bool> has_listener_{false};

  // Of the callbacks, which run one at a time.
  Point point_received_;
  rclcpp::SubscriptionBase::SharedPtr subscription_;
  rclcpp::TimerBase::SharedPtr timer_;
  std::string reported_;
  std::mutex report_mutex_;  // held by a report, and while its sources go

  std::mutex description_mutex_;
  std::condition_variable description_came_;
  std::string description_;
};

}  // namespace joint_dynamics_controllers

#endif  // JOINT_DYNAMICS_CONTROLLERS__FEEDFORWARD_CONTROLLER_HPP_
