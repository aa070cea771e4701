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

#ifndef JOINT_DYNAMICS_CONTROLLERS__SAFETY_GATE_HPP_
#define JOINT_DYNAMICS_CONTROLLERS__SAFETY_GATE_HPP_

#include <string>
#include <vector>

#include <Eigen/Core>

namespace joint_dynamics_controllers
{

/// Bounds every command of n joints in torque and rate, and fades to a safe command and back.
///
///     u(k) = clip(clip(w u_law + (1 − w) u_safe, u(k−1) ± r T), ±u_max)
///
/// Without a law's command the weight w falls from 1 to 0 within the ramp time, with u_law at its last value; it rises
/// again afterwards. So no fault, however short or frequent, causes a step. A command that is not finite is a failure:
/// the gate takes no further one until it is opened again. Whatever comes in, u is finite, within u_max, and changes by
/// r T at most. Commands are in N·m, or in A.
class SafetyGate
{
public:
  struct Settings
  {
    Eigen::VectorXd limit;     ///< u_max (n), > 0
    Eigen::VectorXd rate;      ///< r (n) per second, at least 2 u_max / ramp_time: the ramp ends in time
    double ramp_time = 0.5;    ///< s
    double max_period = 0.02;  ///< s; a longer step counts as this long: a pause permits no jump
  };

  SafetyGate() = default;
  /// @throws std::runtime_error where a limit is not a finite number > 0, or a rate is too small for the ramp
  SafetyGate(const Settings & settings, const std::vector<std::string> & joint_names);

  /// Begins without failure, the weight of the law at 0.
  /// @param begin (n) last command so far; not finite: 0
  /// @param continues whether that is the command of a law: the weight begins at 1
  void open(const Eigen::VectorXd & begin, bool continues) noexcept;

  /// Makes a step of `period` s towards the law's command (n).
  void follow(const Eigen::VectorXd & law, const Eigen::VectorXd & safe, double period) noexcept;
  /// Makes a step of `period` s towards the safe command (n).
  void fall_back(const Eigen::VectorXd & safe, double period) noexcept;

  /// (n) Last command.
  const Eigen::VectorXd & command() const noexcept {return command_;}
  const Settings & settings() const noexcept {return settings_;}
  /// w: 1 law, 0 safe command.
  double weight() const noexcept {return weight_;}
  /// Whether the law gave a command that is not finite.
  bool failed() const noexcept {return failed_;}
  /// Whether it has failed and the safe command is reached.
  bool ended() const noexcept {return failed_ && is_safe_;}

private:
  void step(const Eigen::VectorXd & safe, double direction, double period) noexcept;

  Settings settings_;
  Eigen::VectorXd law_;      // (n) last command of the law, within the limits
  Eigen::VectorXd command_;  // (n)
  double weight_ = 0.0;
  bool has_law_ = false;  // whether a law has commanded since it was opened
  bool failed_ = false;
  bool is_safe_ = false;  // whether the last command was the safe one
};

/// The value within ±limit; 0 where it is not a number.
inline double bounded(double value, double limit) noexcept
{
  if (!(value <= limit)) {
    return value > limit ? limit : 0.0;
  }
  return value >= -limit ? value : -limit;
}

}  // namespace joint_dynamics_controllers

#endif  // JOINT_DYNAMICS_CONTROLLERS__SAFETY_GATE_HPP_
