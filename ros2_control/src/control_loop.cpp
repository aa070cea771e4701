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

#include "joint_dynamics_controllers/control_loop.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

namespace joint_dynamics_controllers
{
namespace
{

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr double NONE = std::numeric_limits<double>::quiet_NaN();
// s; the delay is averaged over some periods of the slowest swing that a late torque feeds, and longer than one pause of
// a machine.
constexpr double DELAY_TIME = 1.0;
// rad/s; a joint about to move: its friction is the most that holds it at rest.
constexpr double ABOUT_TO_MOVE = 1e-9;

SafetyGate gate_of(const joint_dynamics::Arm & arm, const ControlLoop::Settings & settings)
{
  SafetyGate::Settings bounds;
  const Eigen::VectorXd limit = settings.effort_limit.cwiseMin(arm.limits().effort);
  const Eigen::VectorXd rate = (settings.effort_rate.array() > 0.0).select(settings.effort_rate, 50.0 * limit);
  bounds.limit = limit.cwiseProduct(arm.command_scale().cwiseAbs());
  bounds.rate = rate.cwiseProduct(arm.command_scale().cwiseAbs());
  bounds.ramp_time = settings.ramp_time;
  return SafetyGate(bounds, arm.joint_names());
}

/// The first joint whose value is not within [low, high], as a fault; NaN is in no range.
template<typename Values, typename Low, typename High>
bool outside(Fault & fault, Fault::Kind kind, const Values & values, const Low & low, const High & high) noexcept
{
  for (Eigen::Index j = 0; j < values.size(); ++j) {
    if (!(low[j] <= values[j] && values[j] <= high[j])) {
      fault = {kind, static_cast<int>(j), values[j], low[j], high[j]};
      return true;
    }
  }
  return false;
}

bool not_finite(Fault & fault, Fault::Kind kind, const Eigen::VectorXd & values) noexcept
{
  for (Eigen::Index j = 0; j < values.size(); ++j) {
    if (!std::isfinite(values[j])) {
      fault = {kind, static_cast<int>(j), values[j], 0.0, 0.0};
      return true;
    }
  }
  return false;
}

/// What a fault of one value concerns.
const char * quantity(Fault::Kind kind)
{
  switch (kind) {
    case Fault::measured_position: return "state position";
    case Fault::measured_velocity: return "state velocity";
    case Fault::measured_torque: return "state torque";
    case Fault::reference_position: return "reference position";
    case Fault::reference_velocity: return "reference velocity";
    case Fault::reference_acceleration: return "reference acceleration";
    case Fault::position_limit: return "desired position";
    case Fault::tracking: return "distance from the desired position";
    case Fault::desired_speed: return "desired speed";
    case Fault::measured_speed: return "speed";
    default: return "command of the law";
  }
}

}  // namespace

ControlLoop::ControlLoop(TorqueLaw law, const Settings & settings)
: law_(std::move(law)),
  settings_(settings),
  scale_(law_.arm().command_scale()),
  gate_(gate_of(law_.arm(), settings)),
  handover_(scale_.size(), settings.handover_time),
  positions_(static_cast<std::size_t>(scale_.size())),
  speed_limit_(settings.velocity_margin * law_.arm().limits().velocity),
  tracking_(Eigen::VectorXd::Constant(scale_.size(), settings.tracking_tolerance)),
  position_low_(law_.arm().limits().lower.array() - settings.position_margin),
  position_high_(law_.arm().limits().upper.array() + settings.position_margin),
  delay_margin_(law_.delay_margin()),
  position_(Eigen::VectorXd::Zero(scale_.size())),
  safe_(position_),
  effort_(position_),
  asked_(position_)
{
}

void ControlLoop::activate(const Measured & measured, const Eigen::VectorXd & left)
{
  for (PositionCheck & check : positions_) {
    check = PositionCheck();
  }
  law_.reset();
  set_desired_time(NONE, NONE);
  stepped_ = NONE;
  delay_ = 0.0;
  fault_ = {Fault::just_activated, 0, 0.0, 0.0, 0.0};
  outcome_ = Outcome::safe;
  handover_.clear(Source::none);
  position_known_ = measured.position.allFinite();
  if (position_known_) {
    position_ = measured.position;
  }
  update_safe();
  if (find_holding_torque(measured.effort, left)) {
    gate_.open(asked_, true);
    handover_.clear(Source::predecessor);
  } else {
    gate_.open(safe_, false);
  }
}

bool ControlLoop::find_holding_torque(const Eigen::VectorXd & effort, const Eigen::VectorXd & left)
{
  // Zeros tell nothing: a trajectory controller leaves them when it ends, and a driver that measures no torque may
  // report them.
  const auto tells = [](const Eigen::VectorXd & torque) {return torque.allFinite() && !torque.isZero(0.0);};
  if (!position_known_) {
    return false;
  }
  Eigen::VectorXd gravity(position_.size());
  arm().gravity(position_, gravity);
  const Eigen::VectorXd added = settings_.holds_gravity ? Eigen::VectorXd::Zero(gravity.size()).eval() : gravity;
  if (tells(effort)) {
    asked_ = (effort - added).cwiseProduct(scale_);
    return true;
  }
  const Eigen::VectorXd torque = left.cwiseQuotient(scale_);
  const Eigen::VectorXd forward = Eigen::VectorXd::Ones(gravity.size());
  Eigen::VectorXd low(gravity.size()), high(gravity.size());
  arm().friction_torque(-forward, -ABOUT_TO_MOVE * forward, gravity, NONE * forward, low);
  arm().friction_torque(forward, ABOUT_TO_MOVE * forward, gravity, NONE * forward, high);
  low += gravity - added;
  high += gravity - added;
  Fault ignored;
  asked_ = left;
  return tells(torque) && !outside(ignored, Fault::none, torque, low, high);
}

Outcome ControlLoop::step(const Measured & measured, const Desired & desired, double time, double period) noexcept
{
  if (period == 0.0 && time == stepped_ && !gate_.failed()) {
    return outcome_;
  }
  stepped_ = time;
  if (!gate_.failed()) {
    fault_ = find_fault(measured, desired, time, period);
  }
  const bool effort_alone = take_effort(desired, time) && lacks_only_motion(measured);
  if (effort_alone) {
    fault_ = Fault();
  }
  if (fault_.kind == Fault::none) {
    if (effort_alone) {
      asked_.setZero();
    } else {
      law_.update(measured, desired, period);
      asked_ = law_.torque();
    }
    asked_ = (asked_ + effort_).cwiseProduct(scale_);
    handover_.blend(effort_alone ? Source::effort : Source::law, asked_, gate_, period);
    // A law that is followed in full has no share of the safe command in it.
    if (!(gate_.weight() >= 1.0 && asked_.allFinite())) {
      update_safe();
    }
    gate_.follow(asked_, safe_, period);
  } else {
    handover_.wait(period);
    update_safe();
    gate_.fall_back(safe_, period);
  }
  if (gate_.failed() && fault_.kind != Fault::not_finite) {
    // The joint is named; the gate goes to the safe command from the next step on.
    (void)not_finite(fault_, Fault::not_finite, asked_);
  }
  outcome_ = gate_.ended() ? Outcome::ended :
    gate_.failed() ? Outcome::failed : fault_.kind == Fault::none ? Outcome::law : Outcome::safe;
  return outcome_;
}

Fault ControlLoop::find_fault(
  const Measured & measured, const Desired & desired, double time, double period) noexcept
{
  if (!(period > 0.0)) {
    return {Fault::no_time, 0, period, 0.0, 0.0};
  }
  Fault fault = state_fault(measured, time);
  if (fault.kind == Fault::none) {
    fault = reference_fault(desired, time);
  }
  if (fault.kind == Fault::none) {
    average_delay(period);
    fault = beyond_bounds(measured, desired);
  }
  return fault;
}

Fault ControlLoop::state_fault(const Measured & measured, double time) noexcept
{
  Fault fault;
  for (Eigen::Index j = 0; j < position_.size(); ++j) {
    PositionCheck & check = positions_[static_cast<std::size_t>(j)];
    const bool trusted = check.take(
      measured.position[j], time, measured.velocity[j], speed_limit_[j], settings_.jump_margin);
    if (!trusted && fault.kind == Fault::none) {
      fault = {Fault::jump, static_cast<int>(j), check.jump(), 0.0, 0.0};
    }
  }
  if (fault.kind != Fault::none || not_finite(fault, Fault::measured_position, measured.position)) {
    return fault;
  }
  position_ = measured.position;
  position_known_ = true;
  if (not_finite(fault, Fault::measured_velocity, measured.velocity) || !law_.has_torque_loop()) {
    return fault;
  }
  (void)not_finite(fault, Fault::measured_torque, measured.torque);
  return fault;
}

Fault ControlLoop::reference_fault(const Desired & desired, double time) const noexcept
{
  Fault fault;
  if (std::isnan(motion_time_)) {
    return {Fault::reference_missing, 0, 0.0, 0.0, 0.0};
  }
  if (!(std::abs(time - motion_time_) <= settings_.timeout)) {
    return {Fault::reference_old, 0, time - motion_time_, 0.0, settings_.timeout};
  }
  if (!not_finite(fault, Fault::reference_position, desired.position) &&
    !not_finite(fault, Fault::reference_velocity, desired.velocity))
  {
    (void)not_finite(fault, Fault::reference_acceleration, desired.acceleration);
  }
  return fault;
}

Fault ControlLoop::beyond_bounds(const Measured & measured, const Desired & desired) const noexcept
{
  Fault fault;
  const Eigen::Index n = position_.size();
  const auto delay = Eigen::VectorXd::Constant(n, delay_);
  (void)(outside(fault, Fault::position_limit, desired.position, position_low_, position_high_) ||
    outside(fault, Fault::tracking, measured.position - desired.position, -tracking_, tracking_) ||
    outside(fault, Fault::desired_speed, desired.velocity, -speed_limit_, speed_limit_) ||
    outside(fault, Fault::measured_speed, measured.velocity, -speed_limit_, speed_limit_) ||
    outside(fault, Fault::delay, delay, Eigen::VectorXd::Constant(n, -INF), delay_margin_));
  return fault;
}

/// A torque is held for a period: measurement to torque takes half of it on average. A step beyond the longest one of
/// the gate counts as that, so that one absurd period has little effect.
void ControlLoop::average_delay(double period) noexcept
{
  const double share = std::min(period, gate_.settings().max_period) / DELAY_TIME;
  delay_ += share * (0.5 * std::min(period, DELAY_TIME) - delay_);
}

/// Takes the requested effort; returns whether it is there for all joints.
bool ControlLoop::take_effort(const Desired & desired, double time) noexcept
{
  const bool fresh = std::abs(time - effort_time_) <= settings_.timeout;
  bool whole = true;
  for (Eigen::Index j = 0; j < effort_.size(); ++j) {
    const bool asked = fresh && std::isfinite(desired.effort[j]);
    effort_[j] = asked ? desired.effort[j] : 0.0;
    whole = whole && asked;
  }
  return whole;
}

/// Whether the motion is missing or old, and the measured state is plausible.
bool ControlLoop::lacks_only_motion(const Measured & measured) const noexcept
{
  Fault ignored;
  return fault_.kind >= Fault::reference_missing && fault_.kind <= Fault::reference_acceleration &&
         !outside(ignored, Fault::measured_speed, measured.velocity, -speed_limit_, speed_limit_);
}

void ControlLoop::update_safe() noexcept
{
  if (settings_.safe_is_gravity && settings_.holds_gravity && position_known_) {
    arm().gravity(position_, safe_);
    safe_ = safe_.cwiseProduct(scale_);
  } else {
    safe_.setZero();
  }
}

std::string ControlLoop::reason(const Fault & fault) const
{
  const std::string & name = arm().joint_names()[static_cast<std::size_t>(fault.joint)];
  std::ostringstream text;
  switch (fault.kind) {
    case Fault::none:
      break;
    case Fault::just_activated:
      text << "just activated";
      break;
    case Fault::no_time:
      text << "time does not advance: " << fault.value << " s since the last step";
      break;
    case Fault::jump:
      text << "state position of " << name << " jumped by " << fault.value << ", allowed are velocity_margin times the "
           << "limit of the URDF and jump_margin " << settings_.jump_margin << ": not accepted until "
           << PositionCheck::RECOVERY_TIME << " s have passed without a jump";
      break;
    case Fault::reference_missing:
      text << "no motion is desired yet: activate a controller that commands the references, or send joint_references";
      break;
    case Fault::reference_old:
      text << "the desired motion is " << fault.value << " s old, allowed are " << fault.high << " s";
      break;
    case Fault::delay:
      text << "measurements reach the torque " << fault.value << " s late on average, the gains of " << name
           << " bear " << fault.high << " s: lower kp and kd (joint-dynamics gains --plugin --delay " << fault.value
           << "), or relieve the machine";
      break;
    default:
      text << quantity(fault.kind) << " of " << name << " is " << fault.value << ", allowed are ";
      if (fault.low < fault.high) {
        text << fault.low << " … " << fault.high;
      } else {
        text << "finite numbers";
      }
  }
  return text.str();
}

}  // namespace joint_dynamics_controllers
