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

#ifndef JOINT_DYNAMICS_CONTROLLERS__CONTROL_LOOP_HPP_
#define JOINT_DYNAMICS_CONTROLLERS__CONTROL_LOOP_HPP_

#include <limits>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "joint_dynamics_controllers/handover.hpp"
#include "joint_dynamics_controllers/position_check.hpp"
#include "joint_dynamics_controllers/safety_gate.hpp"
#include "joint_dynamics_controllers/torque_law.hpp"

namespace joint_dynamics_controllers
{

/// Why a step does not follow the law.
struct Fault
{
  enum Kind
  {
    none,
    just_activated,
    no_time,            ///< value: period, s
    jump,               ///< measured position; value: its size, rad
    measured_position,  ///< not finite, as the next two
    measured_velocity,
    measured_torque,
    reference_missing,  ///< never came
    reference_old,      ///< value: age, s; negative: ahead of the clock
    reference_position,  ///< not finite, as the next two
    reference_velocity,
    reference_acceleration,
    position_limit,     ///< desired position; value and low, high: rad
    tracking,           ///< distance from the desired position
    desired_speed,
    measured_speed,
    delay,              ///< from measurement to torque, averaged; value and high: s
    not_finite,         ///< command of the law: a failure
  };

  Kind kind = none;
  int joint = 0;
  double value = 0.0;
  double low = 0.0;
  double high = 0.0;
};

/// What a step comes to.
enum class Outcome
{
  law,     ///< the command follows the law, or a requested effort alone
  safe,    ///< on the way to the safe command, there, or on the way back
  failed,  ///< the law failed: on the way to the safe command for good
  ended,   ///< failed, and the safe command is reached
};

/// Law, checks of its inputs, hand-over and gate of one arm. No ROS in it.
///
/// A fault is a required input that is missing, old or not finite, a position that jumps, a value beyond its bounds,
/// time that does not advance, or a loop that is later than the PID bears. During a fault the gate goes to the safe
/// command: gravity at the last known position, or zero. `step` does not allocate, lock or throw.
class ControlLoop
{
public:
  struct Settings
  {
    Eigen::VectorXd effort_limit;      ///< (n) N·m, > 0; infinite: the URDF's, which no limit exceeds
    Eigen::VectorXd effort_rate;       ///< (n) N·m/s; 0: 50 limits per second
    double ramp_time = 0.5;            ///< s, from a fault to the safe command
    double handover_time = 2.0;        ///< s, over which the difference between two sources fades
    double timeout = 0.05;             ///< s, largest age of references
    double tracking_tolerance = 0.5;   ///< rad, between link and desired position
    double velocity_margin = 1.2;      ///< largest speed over the limit in the URDF
    double position_margin = 0.05;     ///< rad, of a desired position beyond the limits in the URDF
    double jump_margin = 0.01;         ///< rad, resolution of the encoder and jitter of the stamps
    bool safe_is_gravity = true;       ///< false: the safe command is zero
    bool holds_gravity = true;         ///< false: the robot adds gravity itself
  };

  /// @throws std::runtime_error where a joint has no effort limit, or a rate is too small
  ControlLoop(TorqueLaw law, const Settings & settings);

  /// Opens the gate; forgets what was desired and measured.
  ///
  /// The command begins with the torque that holds the joints: the measured effort, else the last command on the
  /// interface where friction and gravity explain it. The law takes over within the hand-over time. Where neither is
  /// known it begins with the safe command, and with zero where the position is not known.
  /// @param left (n) last command of the previous controller, N·m or A; NaN: unknown
  void activate(const Measured & measured, const Eigen::VectorXd & left);

  /// States when a motion, and an effort, were desired last, s; NaN: never.
  void set_desired_time(double motion, double effort) noexcept
  {
    motion_time_ = motion;
    effort_time_ = effort;
  }

  /// Makes a step at `time` s, `period` s after the last one. At the time of the last step, with a period of 0, its
  /// outcome stands: a simulated clock may tick more slowly.
  Outcome step(const Measured & measured, const Desired & desired, double time, double period) noexcept;

  /// (n) Last command, N·m or A: finite, within limit and rate.
  const Eigen::VectorXd & command() const noexcept {return gate_.command();}
  const Fault & fault() const noexcept {return fault_;}
  const joint_dynamics::Arm & arm() const noexcept {return law_.arm();}
  /// A fault in words, empty for none; allocates.
  std::string reason(const Fault & fault) const;

private:
  Fault find_fault(const Measured & measured, const Desired & desired, double time, double period) noexcept;
  Fault state_fault(const Measured & measured, double time) noexcept;
  Fault reference_fault(const Desired & desired, double time) const noexcept;
  Fault beyond_bounds(const Measured & measured, const Desired & desired) const noexcept;
  void average_delay(double period) noexcept;
  bool take_effort(const Desired & desired, double time) noexcept;
  bool lacks_only_motion(const Measured & measured) const noexcept;
  void update_safe() noexcept;
  /// Writes the command that holds the arm into `asked_`; returns whether it is known.
  bool find_holding_torque(const Eigen::VectorXd & effort, const Eigen::VectorXd & left);

  TorqueLaw law_;
  Settings settings_;
  Eigen::VectorXd scale_;  // (n) command per torque
  SafetyGate gate_;
  Handover handover_;
  std::vector<PositionCheck> positions_;
  Eigen::VectorXd speed_limit_;    // (n) rad/s
  Eigen::VectorXd tracking_;       // (n) rad
  Eigen::VectorXd position_low_;   // (n) rad, of a desired position
  Eigen::VectorXd position_high_;  // (n) rad
  Eigen::VectorXd delay_margin_;   // (n) s

  double motion_time_ = std::numeric_limits<double>::quiet_NaN();
  double effort_time_ = std::numeric_limits<double>::quiet_NaN();
  double stepped_ = std::numeric_limits<double>::quiet_NaN();  // s, last step
  double delay_ = 0.0;             // s, averaged
  bool position_known_ = false;
  Eigen::VectorXd position_;       // (n) rad, last known
  Eigen::VectorXd safe_;           // (n) N·m or A, safe command there
  Eigen::VectorXd effort_;         // (n) N·m, requested
  Eigen::VectorXd asked_;          // (n) N·m or A, command before the gate
  Fault fault_;
  Outcome outcome_ = Outcome::safe;
};

}  // namespace joint_dynamics_controllers

#endif  // JOINT_DYNAMICS_CONTROLLERS__CONTROL_LOOP_HPP_
