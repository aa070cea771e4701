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

#include "joint_dynamics_controllers/feedforward_controller.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <stdexcept>

#include "joint_dynamics_controllers/loop_parameters.hpp"
#include "pluginlib/class_list_macros.hpp"

namespace joint_dynamics_controllers
{
namespace
{

using controller_interface::CallbackReturn;
using controller_interface::return_type;

constexpr double NONE = std::numeric_limits<double>::quiet_NaN();
constexpr std::chrono::milliseconds REPORT_PERIOD{200};  // a person reads the log
constexpr std::array<std::pair<Eigen::VectorXd Desired::*, const char *>, 4> REFERENCES = {{
  {&Desired::position, "position"},
  {&Desired::velocity, "velocity"},
  {&Desired::acceleration, "acceleration"},
  {&Desired::effort, "effort"},
}};
constexpr std::size_t MOTION = 3;  // the first three desire a motion

std::string read_file(const std::string & path)
{
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw std::runtime_error("description_file: expected a file that can be read, found " + path);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

CallbackReturn FeedforwardController::on_init()
{
  try {
    listener_ = std::make_shared<feedforward_controller::ParamListener>(get_node());
    params_ = listener_->get_params();
  } catch (const std::exception & error) {
    RCLCPP_ERROR(get_node()->get_logger(), "cannot initialise: %s", error.what());
    return CallbackReturn::ERROR;
  }
  return CallbackReturn::SUCCESS;
}

controller_interface::InterfaceConfiguration FeedforwardController::command_interface_configuration() const
{
  controller_interface::InterfaceConfiguration interfaces{
    controller_interface::interface_configuration_type::INDIVIDUAL, {}};
  for (const auto & joint : params_.joints) {
    interfaces.names.push_back(joint + "/" + params_.command_interface);
  }
  return interfaces;
}

controller_interface::InterfaceConfiguration FeedforwardController::state_interface_configuration() const
{
  controller_interface::InterfaceConfiguration interfaces{
    controller_interface::interface_configuration_type::INDIVIDUAL, {}};
  for (const auto & state : states_) {
    for (const auto & joint : params_.joints) {
      interfaces.names.push_back(joint + "/" + state.second);
    }
  }
  return interfaces;
}

std::vector<hardware_interface::CommandInterface::SharedPtr>
FeedforwardController::on_export_reference_interfaces_list()
{
  std::vector<hardware_interface::CommandInterface::SharedPtr> references;
  for (const auto & reference : REFERENCES) {
    for (const auto & joint : params_.joints) {
      references.push_back(std::make_shared<hardware_interface::CommandInterface>(
          std::string(get_node()->get_name()) + "/" + joint, reference.second));
      (void)references.back()->set_value(NONE);
    }
  }
  return references;
}

bool FeedforwardController::on_set_chained_mode(bool /*chained_mode*/) {return true;}

CallbackReturn FeedforwardController::on_configure(const rclcpp_lifecycle::State & /*state*/)
{
  const auto logger = get_node()->get_logger();
  try {
    params_ = listener_->get_params();
    states_.clear();
    for (const auto & [place, name] : std::initializer_list<std::pair<Eigen::VectorXd Measured::*, std::string>>{
        {&Measured::position, params_.position_interface},
        {&Measured::velocity, params_.velocity_interface},
        {&Measured::effort, params_.effort_interface},
        {&Measured::temperature, params_.temperature_interface},
        {&Measured::torque, params_.torque_interface}})
    {
      if (!name.empty()) {
        states_.emplace_back(place, name);
      }
    }
    const std::string description = params_.use_description ? read_description() : "";
    loop_.emplace(loop_from_parameters(*get_node(), params_, get_robot_description(), description));
  } catch (const std::exception & error) {
    RCLCPP_ERROR(logger, "cannot configure: %s", error.what());
    loop_.reset();
    return CallbackReturn::FAILURE;
  }
  for (const auto & remark : loop_->arm().remarks()) {
    RCLCPP_WARN(logger, "%s", remark.c_str());
  }
  measured_ = Measured(loop_->arm().size());
  desired_ = written_ = Desired(loop_->arm().size());
  prepare_state();
  subscribe();
  return CallbackReturn::SUCCESS;
}

std::string FeedforwardController::read_description()
{
  if (!params_.description_file.empty()) {
    return read_file(params_.description_file);
  }
  // The callback comes in another thread of the manager's executor.
  const auto subscription = get_node()->create_subscription<std_msgs::msg::String>(
    "dynamics_description", rclcpp::QoS(1).transient_local(),
    [this](const std_msgs::msg::String & message) {
      {
        const std::lock_guard<std::mutex> lock(description_mutex_);
        description_ = message.data;
      }
      description_came_.notify_all();
    });
  std::unique_lock<std::mutex> lock(description_mutex_);
  description_.clear();
  const auto timeout = std::chrono::duration<double>(params_.description_timeout);
  if (!description_came_.wait_for(lock, timeout, [this] {return !description_.empty();})) {
    throw std::runtime_error(
            std::string("dynamics_description: expected a document on ") + subscription->get_topic_name() +
            " or description_file, found neither yet");
  }
  return description_;
}

void FeedforwardController::subscribe()
{
  const auto n = loop_->arm().size();
  const auto node = get_node();
  slow_inputs_.emplace(*node, params_, adapts(params_));
  point_received_ = {Desired(n), 0};
  point_.initRT(point_received_);
  point_seen_ = 0;
  subscription_ = node->create_subscription<trajectory_msgs::msg::JointTrajectoryPoint>(
      "~/joint_references", rclcpp::SensorDataQoS(),
      [this, n](const trajectory_msgs::msg::JointTrajectoryPoint & message) {
        const std::vector<double> * rows[] = {
          &message.positions, &message.velocities, &message.accelerations, &message.effort};
        for (std::size_t row = 0; row < REFERENCES.size(); ++row) {
          const bool given = !rows[row]->empty();
          if (given && rows[row]->size() != static_cast<std::size_t>(n)) {
            RCLCPP_ERROR(
              get_node()->get_logger(), "joint_references: expected %zu values of %s or none, found %zu",
              params_.joints.size(), REFERENCES[row].second, rows[row]->size());
            return;
          }
          point_received_.desired.*REFERENCES[row].first = given ?
          Eigen::VectorXd(Eigen::Map<const Eigen::VectorXd>(rows[row]->data(), n)) : Measured::unknown(n);
        }
        ++point_received_.count;
        point_.writeFromNonRT(point_received_);
      });
  states_out_ = node->create_publisher<State>("~/controller_state", rclcpp::SystemDefaultsQoS());
  publisher_ = std::make_unique<realtime_tools::RealtimePublisher<State>>(states_out_);
  reported_.clear();
  timer_ = node->create_wall_timer(
    REPORT_PERIOD, [this] {
      const std::lock_guard<std::mutex> lock(report_mutex_);
      if (loop_) {
        has_listener_ = states_out_->get_subscription_count() > 0;
        report();
      }
    });
}

/// Gives the published state its size, so that a step allocates nothing.
void FeedforwardController::prepare_state()
{
  const std::size_t n = params_.joints.size();
  state_ = State();
  state_.joint_names = params_.joints;
  for (auto * point : {&state_.reference, &state_.feedback, &state_.error}) {
    point->positions.assign(n, NONE);
    point->velocities.assign(n, NONE);
  }
  state_.reference.accelerations.assign(n, NONE);
  state_.reference.effort.assign(n, NONE);
  state_.output.effort.assign(n, NONE);
}

CallbackReturn FeedforwardController::on_activate(const rclcpp_lifecycle::State & /*state*/)
{
  for (const auto & reference : ordered_exported_reference_interfaces_) {
    (void)reference->set_value(NONE);
  }
  point_seen_ = point_.readFromRT()->count;
  motion_time_ = effort_time_ = NONE;
  began_.reset();
  // How the joints stand: whoever had them before was deactivated a moment ago.
  read_states();
  Eigen::VectorXd left(loop_->arm().size());
  for (Eigen::Index k = 0; k < left.size(); ++k) {
    left[k] = command_interfaces_[static_cast<std::size_t>(k)].get_optional().value_or(NONE);
  }
  loop_->activate(measured_, left);
  // Over the zeros that a trajectory controller leaves when it ends: before they are sent where the switch is between
  // two cycles (activate_asap).
  write_commands(loop_->command());
  report_.set(Report{true, loop_->fault()});
  const std::lock_guard<std::mutex> lock(update_mutex_);
  active_ = true;
  return CallbackReturn::SUCCESS;
}

CallbackReturn FeedforwardController::on_deactivate(const rclcpp_lifecycle::State & /*state*/)
{
  // A manager that shuts down deactivates beside its loop, and then takes the interfaces away.
  const std::lock_guard<std::mutex> lock(update_mutex_);
  active_ = false;
  // As the joint trajectory controller does: whoever takes over writes over it.
  for (auto & interface : command_interfaces_) {
    (void)interface.set_value(0.0);
  }
  report_.set(Report{false, loop_->fault()});  // a law that failed at its safe command ends within a cycle
  return CallbackReturn::SUCCESS;
}

CallbackReturn FeedforwardController::on_cleanup(const rclcpp_lifecycle::State & /*state*/)
{
  // Also after an error, where nobody deactivated it.
  const std::scoped_lock lock(report_mutex_, update_mutex_);
  active_ = false;
  timer_.reset();
  subscription_.reset();
  slow_inputs_.reset();
  publisher_.reset();
  states_out_.reset();
  loop_.reset();
  return CallbackReturn::SUCCESS;
}

CallbackReturn FeedforwardController::on_error(const rclcpp_lifecycle::State & state) {return on_cleanup(state);}

double FeedforwardController::since_activation(const rclcpp::Time & time)
{
  if (!began_) {
    began_ = time;
  }
  return (time - *began_).seconds();
}

return_type FeedforwardController::update_reference_from_subscribers(
  const rclcpp::Time & /*time*/, const rclcpp::Duration & /*period*/)
{
  const Point & point = *point_.readFromRT();
  if (point.count != point_seen_) {
    point_seen_ = point.count;
    std::size_t k = 0;
    for (const auto & reference : REFERENCES) {
      for (const double value : point.desired.*reference.first) {
        (void)ordered_exported_reference_interfaces_[k++]->set_value(value);
      }
    }
  }
  return return_type::OK;
}

return_type FeedforwardController::update_and_write_commands(
  const rclcpp::Time & time, const rclcpp::Duration & period)
{
  // Held while it is activated or deactivated: the loop never waits.
  const std::unique_lock<std::mutex> lock(update_mutex_, std::try_to_lock);
  if (!lock || !active_) {
    return return_type::OK;
  }
  const double instant = since_activation(time);
  read_states();
  take_references(instant);
  const Outcome outcome = loop_->step(measured_, desired_, instant, period.seconds());
  write_commands(loop_->command());
  (void)report_.try_set(Report{true, loop_->fault()});
  publish(time);
  return outcome == Outcome::ended ? return_type::ERROR : return_type::OK;
}

void FeedforwardController::read_states()
{
  std::size_t interface = 0;
  for (const auto & state : states_) {
    for (double & value : measured_.*state.first) {
      value = state_interfaces_[interface++].get_optional().value_or(NONE);
    }
  }
  slow_inputs_->read(measured_);
}

/// Takes what has been written since the last step, and only that: nobody says that a controller that wrote is gone.
void FeedforwardController::take_references(double time)
{
  std::size_t interface = 0;
  bool moves = false, pushes = false;
  for (std::size_t row = 0; row < REFERENCES.size(); ++row) {
    for (double & value : written_.*REFERENCES[row].first) {
      auto & reference = *ordered_exported_reference_interfaces_[interface++];
      value = reference.get_optional().value_or(NONE);
      if (!std::isnan(value)) {
        (void)reference.set_value(NONE);
        (row < MOTION ? moves : pushes) = true;
      }
    }
  }
  if (moves) {
    desired_.position = written_.position;
    desired_.velocity = written_.velocity;
    desired_.acceleration = written_.acceleration;
    motion_time_ = time;
  }
  if (pushes) {
    desired_.effort = written_.effort;
    effort_time_ = time;
  }
  loop_->set_desired_time(motion_time_, effort_time_);
}

void FeedforwardController::write_commands(const Eigen::VectorXd & values)
{
  for (std::size_t k = 0; k < command_interfaces_.size(); ++k) {
    (void)command_interfaces_[k].set_value(values[static_cast<Eigen::Index>(k)]);
  }
}

void FeedforwardController::publish(const rclcpp::Time & time)
{
  if (!has_listener_) {
    return;
  }
  state_.header.stamp = time;
  for (std::size_t k = 0; k < params_.joints.size(); ++k) {
    const auto j = static_cast<Eigen::Index>(k);
    state_.feedback.positions[k] = measured_.position[j];
    state_.feedback.velocities[k] = measured_.velocity[j];
    state_.reference.positions[k] = desired_.position[j];
    state_.reference.velocities[k] = desired_.velocity[j];
    state_.reference.accelerations[k] = desired_.acceleration[j];
    state_.reference.effort[k] = desired_.effort[j];
    state_.error.positions[k] = desired_.position[j] - measured_.position[j];
    state_.error.velocities[k] = desired_.velocity[j] - measured_.velocity[j];
    state_.output.effort[k] = loop_->command()[j];
  }
  publisher_->try_publish(state_);
}

void FeedforwardController::report()
{
  const auto logger = get_node()->get_logger();
  const Report report = report_.get();
  const bool failed = report.fault.kind == Fault::not_finite;
  const std::string missing = report.active && report.fault.kind == Fault::none ? slow_inputs_->missing() : "";
  // The same fault of the same joint is reported once, whatever its value becomes.
  const std::string topic = std::to_string(report.active) + std::to_string(report.fault.kind) + "/" +
    std::to_string(report.fault.joint) + missing;
  if (topic == reported_) {
    return;
  }
  reported_ = topic;
  const std::string reason = loop_->reason(report.fault);
  if (failed) {
    RCLCPP_ERROR(logger, "on the way to the safe command, then in error: %s", reason.c_str());
  } else if (!reason.empty() && report.active) {
    RCLCPP_WARN(logger, "safe command: %s", reason.c_str());
  } else if (!missing.empty()) {
    RCLCPP_WARN(logger, "%s", missing.c_str());
  } else if (report.active) {
    RCLCPP_INFO(logger, "follows the law");
  }
}

}  // namespace joint_dynamics_controllers

PLUGINLIB_EXPORT_CLASS(
  joint_dynamics_controllers::FeedforwardController, controller_interface::ChainableControllerInterface)
