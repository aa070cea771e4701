// Copyright 2026 The joint_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#include "joint_dynamics_controllers/feedforward_controller.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "joint_dynamics_controllers/compensation_check.hpp"
#include "pluginlib/class_list_macros.hpp"

namespace joint_dynamics_controllers
{
namespace
{

using controller_interface::CallbackReturn;
using controller_interface::return_type;

constexpr double NONE = std::numeric_limits<double>::quiet_NaN();
constexpr double INF = std::numeric_limits<double>::infinity();
constexpr std::chrono::milliseconds REPORT_PERIOD{200};  // a person reads the log
constexpr std::array<std::pair<Eigen::VectorXd Desired::*, const char *>, 4> REFERENCES = {{
  {&Desired::position, "position"},
  {&Desired::velocity, "velocity"},
  {&Desired::acceleration, "acceleration"},
  {&Desired::effort, "effort"},
}};
constexpr std::size_t MOTION = 3;  // the first three desire a motion
constexpr std::array PER_JOINT = {
  "effort_limit", "effort_rate", "kp", "kd", "ki", "integral_limit", "friction_gain", "torque_gain"};
constexpr std::array REMOVED = {
  "law_priority", "law_cpu", "python", "step_timeout", "late_timeout", "motor_position_interface",
  "motor_velocity_interface", "feedback_side", "torque_source"};

std::string read_file(const std::string & path)
{
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw std::runtime_error("description_file: expected a file that can be read, found " + path);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

joint_dynamics::FrictionMode friction_mode(const feedforward_controller::Params & params)
{
  const std::string own = params.law == "adaptive_friction" ? "hysteresis" : "none";
  const std::string chosen = params.friction == "default" ? own : params.friction;
  return chosen == "hysteresis" ? joint_dynamics::FrictionMode::hysteresis :
         chosen == "static" ? joint_dynamics::FrictionMode::static_map : joint_dynamics::FrictionMode::none;
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
    refuse_unknown_parameters();
    loop_.emplace(make_loop());
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

/// Refuses parameters that 0.3.0 removed, and values under a name that is no joint: they would be ignored.
void FeedforwardController::refuse_unknown_parameters() const
{
  for (const auto & item : get_node()->get_node_parameters_interface()->get_parameter_overrides()) {
    const std::string & name = item.first;
    if (std::find(REMOVED.begin(), REMOVED.end(), name) != REMOVED.end()) {
      throw std::runtime_error(name + ": no parameter since 0.3.0, as the law is a part of update(); remove it");
    }
    const auto dot = name.find('.');
    if (std::find(PER_JOINT.begin(), PER_JOINT.end(), name.substr(0, dot)) == PER_JOINT.end()) {
      continue;
    }
    const std::string joint = dot == std::string::npos ? "" : name.substr(dot + 1);
    if (std::find(params_.joints.begin(), params_.joints.end(), joint) == params_.joints.end()) {
      throw std::runtime_error(
              name + ": expected a value per joint, " + name.substr(0, dot) + "." + params_.joints[0] +
              ", found no such joint among joints");
    }
  }
}

/// Reads a parameter of every joint, `<name>.<joint>`.
Eigen::VectorXd FeedforwardController::per_joint(const char * name, double otherwise, double lower, double upper)
{
  const auto node = get_node();
  Eigen::VectorXd values(static_cast<Eigen::Index>(params_.joints.size()));
  for (std::size_t k = 0; k < params_.joints.size(); ++k) {
    const std::string full = name + ("." + params_.joints[k]);
    if (!node->has_parameter(full)) {
      rcl_interfaces::msg::ParameterDescriptor descriptor;
      descriptor.dynamic_typing = true;  // a number may be written as a whole one
      node->declare_parameter(full, rclcpp::ParameterValue(otherwise), descriptor);
    }
    const rclcpp::Parameter given = node->get_parameter(full);
    const double value = given.get_type() == rclcpp::PARAMETER_DOUBLE ? given.as_double() :
      given.get_type() == rclcpp::PARAMETER_INTEGER ? static_cast<double>(given.as_int()) : NONE;
    if (!(lower <= value && value <= upper)) {
      std::ostringstream text;
      text << full << ": expected a number from " << lower << " to " << upper << ", found " << given.value_to_string();
      throw std::runtime_error(text.str());
    }
    values[static_cast<Eigen::Index>(k)] = value;
  }
  return values;
}

ControlLoop FeedforwardController::make_loop()
{
  const std::string description = params_.use_description ? read_description() : "";
  joint_dynamics::ArmOptions options;
  options.mounting = params_.mounting;
  options.payload_mass = params_.payload_mass;
  std::copy_n(params_.payload_center.begin(), 3, options.payload_center.begin());
  options.gravity = params_.gravity;
  options.current = params_.output == "current";
  options.friction = friction_mode(params_);
  const Eigen::VectorXd gain = per_joint("friction_gain", 1.0, 0.0, 1.5);
  options.friction_gain.assign(gain.begin(), gain.end());
  options.rest_gain = params_.rest_gain;
  options.friction_smoothing = params_.friction_smoothing;
  std::copy_n(params_.alpha_lower.begin(), 2, options.alpha_lower.begin());
  std::copy_n(params_.alpha_upper.begin(), 2, options.alpha_upper.begin());
  options.viscous_share = params_.viscous_share;
  joint_dynamics::Arm arm(get_robot_description(), description, params_.joints, options);
  if (params_.check_compensation && options.friction != joint_dynamics::FrictionMode::none) {
    refuse_run_away(arm, description, gain);
  }

  adapts_ = params_.law == "adaptive_friction" && options.friction != joint_dynamics::FrictionMode::none;
  TorqueLaw::Settings law;
  law.adapts = adapts_;
  law.feedback = params_.feedback;
  law.kp = per_joint("kp", 0.0, 0.0, 1e5);
  law.kd = per_joint("kd", 0.0, 0.0, 1e3);
  law.ki = per_joint("ki", 0.0, 0.0, 1e6);
  law.integral_limit = per_joint("integral_limit", 5.0, 0.0, 1e4);
  law.torque_gain = per_joint("torque_gain", 0.0, 0.0, 10.0);
  law.torque_limit = params_.torque_limit * arm.limits().effort;
  if ((law.torque_gain.array() > 0.0).any() && params_.torque_interface.empty()) {
    throw std::runtime_error("torque_gain: expected a torque_interface, found none");
  }

  ControlLoop::Settings settings;
  settings.effort_limit = per_joint("effort_limit", 0.0, 0.0, 1e5);
  settings.effort_limit = (settings.effort_limit.array() > 0.0).select(settings.effort_limit, INF);
  settings.effort_rate = per_joint("effort_rate", 0.0, 0.0, 1e7);
  settings.ramp_time = params_.ramp_time;
  settings.handover_time = params_.handover_time;
  settings.timeout = params_.timeout;
  settings.tracking_tolerance = params_.tracking_tolerance;
  settings.velocity_margin = params_.velocity_margin;
  settings.position_margin = params_.position_margin;
  settings.jump_margin = params_.jump_margin;
  settings.safe_is_gravity = params_.safe_command == "gravity";
  settings.holds_gravity = params_.gravity;
  return ControlLoop(TorqueLaw(std::move(arm), law), settings);
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
  subscriptions_.clear();
  alpha_.initRT(Measured(n).alpha);
  alpha_time_.reset();
  if (adapts_ && !params_.friction_topic.empty()) {
    subscriptions_.push_back(node->create_subscription<std_msgs::msg::Float64MultiArray>(
        params_.friction_topic, rclcpp::QoS(10),
        [this, n](const std_msgs::msg::Float64MultiArray & message) {
          if (message.data.size() != static_cast<std::size_t>(2 * n)) {
            RCLCPP_ERROR(
              get_node()->get_logger(), "friction_topic: expected %zu rows of 2, found %zu values",
              params_.joints.size(), message.data.size());
            return;
          }
          alpha_.writeFromNonRT(Eigen::Map<const Alpha>(message.data.data(), n, 2));
          alpha_time_ = std::chrono::steady_clock::now();
        }));
  }
  subscribe_to_temperatures();
  point_received_ = {Desired(n), 0};
  point_.initRT(point_received_);
  point_seen_ = 0;
  subscriptions_.push_back(node->create_subscription<trajectory_msgs::msg::JointTrajectoryPoint>(
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
      }));
  publisher_ = std::make_unique<realtime_tools::RealtimePublisher<State>>(
    node->create_publisher<State>("~/controller_state", rclcpp::SystemDefaultsQoS()));
  reported_.clear();
  timer_ = node->create_wall_timer(REPORT_PERIOD, [this] {report();});
}

void FeedforwardController::subscribe_to_temperatures()
{
  temperature_received_ = Measured::unknown(loop_->arm().size());
  temperature_.initRT(temperature_received_);
  temperature_times_.assign(params_.joints.size(), std::nullopt);
  const std::string mark = "{joint}";
  for (const auto & pattern : params_.temperature_topics) {
    const auto place = pattern.find(mark);
    const bool shared = place == std::string::npos;  // one topic for all joints: `frame_id` names the joint
    for (std::size_t k = 0; k < (shared ? 1 : params_.joints.size()); ++k) {
      std::string topic = pattern;
      if (!shared) {
        topic.replace(place, mark.size(), params_.joints[k]);
      }
      subscriptions_.push_back(get_node()->create_subscription<sensor_msgs::msg::Temperature>(
          topic, rclcpp::SensorDataQoS(),
          [this, k, shared](const sensor_msgs::msg::Temperature & message) {
            const auto & joints = params_.joints;
            const auto match = std::find(joints.begin(), joints.end(), message.header.frame_id);
            const auto joint = shared ? static_cast<std::size_t>(match - joints.begin()) : k;
            if (joint < joints.size()) {
              temperature_received_[static_cast<Eigen::Index>(joint)] = message.temperature;
              temperature_times_[joint] = std::chrono::steady_clock::now();
              temperature_.writeFromNonRT(temperature_received_);
            }
          }));
    }
  }
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
  report_.set(Report{true, Outcome::safe, loop_->fault()});
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
  report_.set(Report());
  return CallbackReturn::SUCCESS;
}

CallbackReturn FeedforwardController::on_cleanup(const rclcpp_lifecycle::State & /*state*/)
{
  timer_.reset();
  subscriptions_.clear();
  publisher_.reset();
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
  (void)report_.try_set(Report{true, outcome, loop_->fault()});
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
  measured_.alpha = *alpha_.readFromRT();
  if (params_.temperature_interface.empty()) {
    measured_.temperature = *temperature_.readFromRT();
  }
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
      (void)reference.set_value(NONE);
      (row < MOTION ? moves : pushes) |= !std::isnan(value);
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
  const bool failed = report.outcome == Outcome::failed || report.outcome == Outcome::ended;
  const std::string missing = report.active && report.fault.kind == Fault::none ? missing_inputs() : "";
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

/// Slow inputs that are missing or old; the law goes on with their last values.
std::string FeedforwardController::missing_inputs() const
{
  const auto limit = std::chrono::duration<double>(params_.slow_timeout);
  const auto lacks = [&](const std::optional<SteadyTime> & time) {
      return !time || std::chrono::steady_clock::now() - *time > limit;
    };
  if (adapts_ && !params_.friction_topic.empty() && lacks(alpha_time_)) {
    return std::string("no α of the estimator ") + (alpha_time_ ? "any more" : "yet") + " on " +
           params_.friction_topic + ": friction " + (alpha_time_ ? "with the last one" : "as described") +
           "; without an estimator, set friction_topic to ''";
  }
  for (std::size_t k = 0; !params_.temperature_topics.empty() && k < params_.joints.size(); ++k) {
    if (lacks(temperature_times_[k])) {
      return "no temperature of " + params_.joints[k] + " on temperature_topics: the last one counts, at first T_0";
    }
  }
  return "";
}

}  // namespace joint_dynamics_controllers

PLUGINLIB_EXPORT_CLASS(
  joint_dynamics_controllers::FeedforwardController, controller_interface::ChainableControllerInterface)
