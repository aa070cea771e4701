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
#include <chrono>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <stdexcept>

#include "pluginlib/class_list_macros.hpp"

namespace joint_dynamics_controllers
{
namespace
{
using controller_interface::CallbackReturn;
using controller_interface::return_type;

constexpr double NONE = std::numeric_limits<double>::quiet_NaN();
constexpr std::chrono::milliseconds REPORT_PERIOD{200};
constexpr std::array<const char *, REFERENCE_ROWS> REFERENCES = {
  "position", "velocity", "acceleration", "effort"};

/// Return a parameter as the host takes it; false for one of a type that no parameter here has.
bool converted(const rclcpp::ParameterValue & given, Value & value)
{
  switch (given.get_type()) {
    case rclcpp::ParameterType::PARAMETER_BOOL:
      value = given.get<bool>();
      return true;
    case rclcpp::ParameterType::PARAMETER_INTEGER:
      value = given.get<std::int64_t>();
      return true;
    case rclcpp::ParameterType::PARAMETER_DOUBLE:
      value = given.get<double>();
      return true;
    case rclcpp::ParameterType::PARAMETER_STRING:
      value = given.get<std::string>();
      return true;
    case rclcpp::ParameterType::PARAMETER_BOOL_ARRAY:
      value = given.get<std::vector<bool>>();
      return true;
    case rclcpp::ParameterType::PARAMETER_INTEGER_ARRAY:
      value = given.get<std::vector<std::int64_t>>();
      return true;
    case rclcpp::ParameterType::PARAMETER_DOUBLE_ARRAY:
      value = given.get<std::vector<double>>();
      return true;
    case rclcpp::ParameterType::PARAMETER_STRING_ARRAY:
      value = given.get<std::vector<std::string>>();
      return true;
    default:
      return false;
  }
}

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

controller_interface::InterfaceConfiguration
FeedforwardController::command_interface_configuration() const
{
  controller_interface::InterfaceConfiguration interfaces{
    controller_interface::interface_configuration_type::INDIVIDUAL, {}};
  for (const auto & joint : params_.joints) {
    interfaces.names.push_back(joint + "/" + params_.command_interface);
  }
  return interfaces;
}

controller_interface::InterfaceConfiguration
FeedforwardController::state_interface_configuration() const
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
  for (const char * quantity : REFERENCES) {
    for (const auto & joint : params_.joints) {
      references.push_back(std::make_shared<hardware_interface::CommandInterface>(
        std::string(get_node()->get_name()) + "/" + joint, quantity));
      (void)references.back()->set_value(NONE);
    }
  }
  return references;
}

bool FeedforwardController::on_set_chained_mode(bool /*chained_mode*/) { return true; }

CallbackReturn FeedforwardController::on_configure(const rclcpp_lifecycle::State & /*state*/)
{
  const auto logger = get_node()->get_logger();
  try {
    params_ = listener_->get_params();
    states_.clear();
    for (const auto & [row, name] : std::initializer_list<std::pair<StateRow, std::string>>{
           {POSITION, params_.position_interface},
           {VELOCITY, params_.velocity_interface},
           {EFFORT, params_.effort_interface},
           {TEMPERATURE, params_.temperature_interface},
           {MOTOR_POSITION, params_.motor_position_interface},
           {MOTOR_VELOCITY, params_.motor_velocity_interface},
           {TORQUE, params_.torque_interface}}) {
      if (!name.empty()) {
        states_.emplace_back(row, name);
      }
    }
    host_.reset();
    HostSettings settings;
    settings.python = params_.python;
    settings.priority = static_cast<int>(params_.law_priority);
    settings.cpu = static_cast<int>(params_.law_cpu);
    host_ = std::make_unique<LawHost>(settings);
    const Values values = read_parameters();
    const std::string description = params_.use_description ? read_description() : "";
    RCLCPP_INFO(
      logger,
      "building the law; the first time on an installation it is compiled, which takes a minute or "
      "more");
    for (const auto & remark : host_->configure(get_robot_description(), description, values)) {
      RCLCPP_INFO(logger, "%s", remark.c_str());
    }
  } catch (const std::exception & error) {
    RCLCPP_ERROR(logger, "cannot configure: %s", error.what());
    host_.reset();
    return CallbackReturn::FAILURE;
  }
  if (!host_->scheduled()) {
    RCLCPP_WARN(
      logger,
      "law_priority %d, law_cpu %d: not permitted, the law runs without (see limits.conf)",
      static_cast<int>(params_.law_priority), static_cast<int>(params_.law_cpu));
  }
  const double rate = std::max(get_update_rate(), 1u);
  const double wait = params_.step_timeout > 0.0 ? params_.step_timeout : 0.5 / rate;
  times_.step_timeout = std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * wait));
  times_.late_timeout = params_.late_timeout;
  // This is the manager's loop: opening and closing the gate may take no longer than a step.
  switch_timeout_ =
    times_.step_timeout + std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * params_.late_timeout));
  times_.ramp_time = params_.ramp_time;
  const std::size_t n = params_.joints.size();
  measured_.assign(STATE_ROWS * n, NONE);
  read_.assign(REFERENCE_ROWS * n, NONE);
  subscribe();
  return CallbackReturn::SUCCESS;
}

Values FeedforwardController::read_parameters()
{
  const auto node = get_node();
  for (const auto & row : host_->to_declare(params_.law)) {
    std::vector<std::string> names;
    if (row.per_joint) {
      for (const auto & joint : params_.joints) {
        names.push_back(row.name + "." + joint);
      }
    } else {
      names.push_back(row.name);
    }
    rcl_interfaces::msg::ParameterDescriptor descriptor;
    descriptor.description = row.description;
    // A number may be written as a whole one; what is allowed is checked where the law is built.
    descriptor.dynamic_typing = true;
    for (const auto & name : names) {
      if (!node->has_parameter(name)) {
        const auto value = std::visit(
          [](const auto & held) { return rclcpp::ParameterValue(held); }, row.default_value);
        node->declare_parameter(name, value, descriptor);
      }
    }
  }
  Values parameters;
  Value value;
  // Those that nobody declared may be misspelt, which the host knows.
  for (const auto & item : node->get_node_parameters_interface()->get_parameter_overrides()) {
    if (converted(item.second, value)) {
      parameters[item.first] = value;
    }
  }
  for (const auto & name : node->list_parameters({}, 0).names) {
    if (converted(node->get_parameter(name).get_parameter_value(), value)) {
      parameters[name] = value;
    }
  }
  return parameters;
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
  if (!description_came_.wait_for(lock, timeout, [this] { return !description_.empty(); })) {
    throw std::runtime_error(
      std::string("dynamics_description: expected a document on ") +
      subscription->get_topic_name() + " or description_file, found neither yet");
  }
  return description_;
}

void FeedforwardController::subscribe()
{
  const std::size_t n = params_.joints.size();
  const auto node = get_node();
  subscriptions_.clear();
  friction_received_ = {std::vector<double>(2 * n, NONE), 0};
  friction_.writeFromNonRT(friction_received_);
  reference_received_ = {std::vector<double>(REFERENCE_ROWS * n, NONE), 0};
  reference_.writeFromNonRT(reference_received_);
  temperature_received_ = {std::vector<double>(n, NONE), 0};
  temperature_.writeFromNonRT(temperature_received_);
  friction_seen_ = temperature_seen_ = reference_seen_ = 0;

  if (!params_.friction_topic.empty()) {
    subscriptions_.push_back(node->create_subscription<std_msgs::msg::Float64MultiArray>(
      params_.friction_topic, rclcpp::QoS(10),
      [this, n](const std_msgs::msg::Float64MultiArray & message) {
        if (message.data.size() != 2 * n) {
          RCLCPP_ERROR(
            get_node()->get_logger(), "friction_parameters: expected %zu rows of 2, found %zu values",
            n, message.data.size());
          return;
        }
        // From rows of joints to a row for each of the law's states.
        for (std::size_t k = 0; k < 2 * n; ++k) {
          friction_received_.values[(k % 2) * n + k / 2] = message.data[k];
        }
        ++friction_received_.count;
        friction_.writeFromNonRT(friction_received_);
      }));
  }
  const std::string mark = "{joint}";
  for (const auto & pattern : params_.temperature_topics) {
    const auto place = pattern.find(mark);
    for (std::size_t k = 0; k < (place == std::string::npos ? 1 : n); ++k) {
      std::string topic = pattern;
      if (place != std::string::npos) {
        topic.replace(place, mark.size(), params_.joints[k]);
      }
      subscriptions_.push_back(node->create_subscription<sensor_msgs::msg::Temperature>(
        topic, rclcpp::SensorDataQoS(),
        [this, k, named = place == std::string::npos](const sensor_msgs::msg::Temperature & message) {
          const auto & joints = params_.joints;
          const auto match = std::find(joints.begin(), joints.end(), message.header.frame_id);
          const auto joint = named ? static_cast<std::size_t>(match - joints.begin()) : k;
          if (joint < joints.size()) {
            take_temperature(joint, message.temperature);
          }
        }));
    }
  }
  subscriptions_.push_back(node->create_subscription<trajectory_msgs::msg::JointTrajectoryPoint>(
    "~/joint_references", rclcpp::SensorDataQoS(),
    [this, n](const trajectory_msgs::msg::JointTrajectoryPoint & point) {
      const std::vector<double> * rows[] = {
        &point.positions, &point.velocities, &point.accelerations, &point.effort};
      for (std::size_t row = 0; row < REFERENCE_ROWS; ++row) {
        if (!rows[row]->empty() && rows[row]->size() != n) {
          RCLCPP_ERROR(
            get_node()->get_logger(), "joint_references: expected %zu values of %s or none, found %zu",
            n, REFERENCES[row], rows[row]->size());
          return;
        }
        for (std::size_t k = 0; k < n; ++k) {
          reference_received_.values[row * n + k] = rows[row]->empty() ? NONE : (*rows[row])[k];
        }
      }
      ++reference_received_.count;
      reference_.writeFromNonRT(reference_received_);
    }));

  state_ = State();
  state_.joint_names = params_.joints;
  for (auto * point : {&state_.reference, &state_.feedback, &state_.error, &state_.output}) {
    point->positions.assign(point == &state_.output ? 0 : n, NONE);
    point->velocities = point->positions;
  }
  state_.reference.accelerations.assign(n, NONE);
  state_.reference.effort.assign(n, NONE);
  state_.output.effort.assign(n, NONE);
  publisher_ = std::make_unique<realtime_tools::RealtimePublisher<State>>(
    node->create_publisher<State>("~/controller_state", rclcpp::SystemDefaultsQoS()));
  timer_ = node->create_wall_timer(REPORT_PERIOD, [this] { report(); });
}

void FeedforwardController::take_temperature(std::size_t joint, double value)
{
  temperature_received_.values[joint] = value;
  ++temperature_received_.count;
  temperature_.writeFromNonRT(temperature_received_);
}

CallbackReturn FeedforwardController::on_activate(const rclcpp_lifecycle::State & /*state*/)
{
  for (const auto & reference : ordered_exported_reference_interfaces_) {
    (void)reference->set_value(NONE);
  }
  reference_seen_ = reference_.readFromRT()->count;
  reference_time_ = effort_time_ = NONE;
  // What the estimator said last is as good as its age: it is taken as of now.
  friction_seen_ = temperature_seen_ = 0;
  if (host_->ready()) {
    // How the joints stand: whoever had them before was deactivated a moment ago.
    write_states(0.0);
    for (std::size_t k = 0; k < params_.joints.size(); ++k) {
      host_->arrays().left[k] = command_interfaces_[k].get_optional().value_or(NONE);
    }
  }
  if (!host_->activate(switch_timeout_)) {
    RCLCPP_ERROR(
      get_node()->get_logger(), "cannot activate: %s",
      host_->ready() ? host_->reason().c_str() : "the law takes longer than step_timeout and late_timeout");
    return CallbackReturn::FAILURE;
  }
  law_.reset(*host_, times_);
  fresh_ = true;
  late_ = unwritten_ = 0;
  // Over the zeros that a trajectory controller leaves when it ends: before they are written where
  // the switch is between two cycles (activate_asap).
  write_commands(law_.command());
  const std::lock_guard<std::mutex> lock(update_mutex_);
  active_ = true;
  return CallbackReturn::SUCCESS;
}

CallbackReturn FeedforwardController::on_deactivate(const rclcpp_lifecycle::State & /*state*/)
{
  // A manager that shuts down deactivates beside its loop, and then takes the interfaces away.
  const std::lock_guard<std::mutex> lock(update_mutex_);
  active_ = false;
  if (!host_->deactivate(switch_timeout_)) {
    RCLCPP_WARN(get_node()->get_logger(), "the law hangs: it is left behind when this is cleaned up");
  }
  // As the joint trajectory controller does: whoever takes over writes over it.
  for (auto & interface : command_interfaces_) {
    (void)interface.set_value(0.0);
  }
  outcome_ = Outcome::CLOSED;
  return CallbackReturn::SUCCESS;
}

CallbackReturn FeedforwardController::on_cleanup(const rclcpp_lifecycle::State & /*state*/)
{
  timer_.reset();
  subscriptions_.clear();
  publisher_.reset();
  host_.reset();
  return CallbackReturn::SUCCESS;
}

CallbackReturn FeedforwardController::on_error(const rclcpp_lifecycle::State & state)
{
  return on_cleanup(state);
}

double FeedforwardController::now(const rclcpp::Time & time)
{
  if (fresh_) {
    began_ = time;
    fresh_ = false;
  }
  return (time - began_).seconds();
}

return_type FeedforwardController::update_reference_from_subscribers(
  const rclcpp::Time & time, const rclcpp::Duration & /*period*/)
{
  const Received & received = *reference_.readFromRT();
  if (received.count != reference_seen_) {
    reference_seen_ = received.count;
    (void)now(time);
    for (std::size_t k = 0; k < received.values.size(); ++k) {
      (void)ordered_exported_reference_interfaces_[k]->set_value(received.values[k]);
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
  const double instant = now(time);
  if (law_.takes_input()) {
    write_inputs(instant, period.seconds());
  }
  const bool good = law_.step(period.seconds());
  write_commands(law_.command());
  outcome_ = law_.outcome();
  phase_ = law_.phase();
  late_ = law_.late_steps();
  publish(time);
  return good ? return_type::OK : return_type::ERROR;
}

void FeedforwardController::write_inputs(double time, double period)
{
  const Arrays & arrays = host_->arrays();
  arrays.clock[0] = time;
  arrays.clock[1] = period;
  write_states(time);
  take_references(time);
  write_slow(friction_, friction_seen_, FRICTION_SCALE, 2, time);
  write_slow(temperature_, temperature_seen_, TEMPERATURE, 1, time);
}

void FeedforwardController::write_states(double time)
{
  const Arrays & arrays = host_->arrays();
  const std::size_t n = arrays.joints;
  for (std::size_t s = 0; s < states_.size(); ++s) {
    const std::size_t row = states_[s].first;
    for (std::size_t k = 0; k < n; ++k) {
      const double value = state_interfaces_[s * n + k].get_optional().value_or(NONE);
      arrays.state[row * n + k] = measured_[row * n + k] = value;
    }
    arrays.state_time[row] = time;
  }
}

/// Take what has been written since the last step, and only that: nobody says that a controller that wrote is gone.
void FeedforwardController::take_references(double time)
{
  const Arrays & arrays = host_->arrays();
  const std::size_t motion = (REFERENCE_ROWS - 1) * arrays.joints, all = REFERENCE_ROWS * arrays.joints;
  const auto take = [&](std::size_t first, std::size_t end, double & when) {
      bool written = false;
      for (std::size_t k = first; k < end; ++k) {
        read_[k] = ordered_exported_reference_interfaces_[k]->get_optional().value_or(NONE);
        (void)ordered_exported_reference_interfaces_[k]->set_value(NONE);
        written = written || !std::isnan(read_[k]);
      }
      if (written) {
        std::copy_n(read_.data() + first, end - first, arrays.reference + first);
        when = time;
      }
    };
  take(0, motion, reference_time_);
  take(motion, all, effort_time_);
  arrays.reference_time[0] = reference_time_;
  arrays.reference_time[1] = effort_time_;
}

void FeedforwardController::write_slow(
  realtime_tools::RealtimeBuffer<Received> & source, std::size_t & seen, std::size_t first_row,
  std::size_t count, double time)
{
  const Received & received = *source.readFromRT();
  if (received.count == seen) {
    return;
  }
  seen = received.count;
  const Arrays & arrays = host_->arrays();
  std::copy(received.values.begin(), received.values.end(), arrays.state + first_row * arrays.joints);
  std::fill_n(arrays.state_time + first_row, count, time);
}

void FeedforwardController::write_commands(const std::vector<double> & values)
{
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (!command_interfaces_[k].set_value(values[k])) {
      ++unwritten_;
    }
  }
}

void FeedforwardController::publish(const rclcpp::Time & time)
{
  const std::size_t n = params_.joints.size();
  const double * reference = host_->arrays().reference;
  state_.header.stamp = time;
  for (std::size_t k = 0; k < n; ++k) {
    state_.feedback.positions[k] = measured_[POSITION * n + k];
    state_.feedback.velocities[k] = measured_[VELOCITY * n + k];
    state_.reference.positions[k] = reference[k];
    state_.reference.velocities[k] = reference[n + k];
    state_.reference.accelerations[k] = reference[2 * n + k];
    state_.reference.effort[k] = reference[3 * n + k];
    state_.error.positions[k] = state_.reference.positions[k] - state_.feedback.positions[k];
    state_.error.velocities[k] = state_.reference.velocities[k] - state_.feedback.velocities[k];
    state_.output.effort[k] = law_.command()[k];
  }
  publisher_->try_publish(state_);
}

void FeedforwardController::report()
{
  const auto logger = get_node()->get_logger();
  const Outcome outcome = outcome_;
  std::string text;
  if (outcome != Outcome::CLOSED) {
    text = host_->reason();
    if (phase_ != GuardedLaw::Phase::RUNNING) {
      text = "on the way to the safe command, then in error: " +
             (outcome == Outcome::LATE ? "the law does not come back" : text);
    }
  }
  if (text != reported_) {
    reported_ = text;
    if (phase_ != GuardedLaw::Phase::RUNNING && !text.empty()) {
      RCLCPP_ERROR(logger, "%s", text.c_str());
    } else if (!text.empty()) {
      RCLCPP_WARN(logger, "%s", text.c_str());
    } else if (outcome != Outcome::CLOSED) {
      RCLCPP_INFO(logger, "follows the law");
    }
  }
  const std::size_t late = late_;
  if (late > late_reported_) {
    RCLCPP_WARN(logger, "%zu steps of the law were late since activation", late);
  }
  late_reported_ = late;
}

}  // namespace joint_dynamics_controllers

PLUGINLIB_EXPORT_CLASS(
  joint_dynamics_controllers::FeedforwardController,
  controller_interface::ChainableControllerInterface)
