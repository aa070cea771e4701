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

#ifndef JOINT_DYNAMICS_CONTROLLERS__TORQUE_LAW_HPP_
#define JOINT_DYNAMICS_CONTROLLERS__TORQUE_LAW_HPP_

#include <limits>

#include <Eigen/Core>

#include "dynamics_model/arm.hpp"

namespace joint_dynamics_controllers
{

/// α1 [1] and α2 [N·m·s/rad] of the estimator, (n, 2).
using Alpha = joint_dynamics::Scale;

/// Measured quantities of n joints; NaN where unknown.
struct Measured
{
  explicit Measured(Eigen::Index n)
  : position(unknown(n)), velocity(unknown(n)), effort(unknown(n)), torque(unknown(n)), temperature(unknown(n)),
    alpha(Alpha::Constant(n, 2, std::numeric_limits<double>::quiet_NaN())) {}

  static Eigen::VectorXd unknown(Eigen::Index n)
  {
    return Eigen::VectorXd::Constant(n, std::numeric_limits<double>::quiet_NaN());
  }

  Eigen::VectorXd position;     ///< q, rad, link side
  Eigen::VectorXd velocity;     ///< q̇, rad/s, link side
  Eigen::VectorXd effort;       ///< motor torque, N·m, joint side of the gear
  Eigen::VectorXd torque;       ///< τ̂_J through the transmission, N·m
  Eigen::VectorXd temperature;  ///< °C
  Alpha alpha;
};

/// Desired motion and effort of n joints; NaN where nothing is desired.
struct Desired
{
  explicit Desired(Eigen::Index n)
  : position(Measured::unknown(n)), velocity(position), acceleration(position), effort(position) {}

  Eigen::VectorXd position;      ///< q_d, rad
  Eigen::VectorXd velocity;      ///< rad/s
  Eigen::VectorXd acceleration;  ///< rad/s²
  Eigen::VectorXd effort;        ///< N·m, added to the torque of the law
};

/// Feedforward of the identified arm with an inertia-scaled PID and a loop around the joint torque.
///
///     u    = u_FF + u_FB + K_τJ (τ_J,d + u_FB − τ̂_J)                                       [patent 2]
///     u_FB = (M(q_d) + B)(−K_d ė − K_p e − ∫K_i e),  e = q − q_d                           [M6 eq 30, with B]
///
/// u_FF is the motor torque of `Arm`: computed torque, with or without friction. `Settings::adapts` makes the difference
/// between the laws `adaptive_friction` and `computed_torque`. With B, equal gains give every joint the same bandwidth:
/// in a small wrist B is many times M_jj. u_FB in the set point of the torque loop makes the rotor appear as
/// B/(1 + K_τJ) and divides unmodelled friction by 1 + K_τJ; with τ_J,d alone the loop would not reduce it.
class TorqueLaw
{
public:
  /// Gains and bounds, (n) each; a gain of 0 switches its part off.
  struct Settings
  {
    bool adapts = false;    ///< whether α of the estimator counts
    bool feedback = false;  ///< whether u_FB is added
    Eigen::VectorXd kp;               ///< 1/s²
    Eigen::VectorXd kd;               ///< 1/s
    Eigen::VectorXd ki;               ///< 1/s³
    Eigen::VectorXd integral_limit;   ///< rad/s², bound of the integral part
    Eigen::VectorXd torque_gain;      ///< K_τJ
    Eigen::VectorXd torque_limit;     ///< N·m, bound of the torque loop
  };

  /// @throws std::runtime_error where a joint of the PID would be unstable
  TorqueLaw(joint_dynamics::Arm arm, const Settings & settings);

  /// Forgets integral and hysteresis; α and temperature stay.
  void reset() noexcept;

  /// Makes a step of `period` s.
  void update(const Measured & measured, const Desired & desired, double period) noexcept;

  /// (n) u, N·m.
  const Eigen::VectorXd & torque() const noexcept {return torque_;}
  const joint_dynamics::Arm & arm() const noexcept {return arm_;}
  /// Whether it needs the torque through the transmission.
  bool has_torque_loop() const noexcept {return has_torque_loop_;}

  /// (n) Delay that the PID bears [s], from measurement to torque, on rigid joints; infinite without feedback.
  ///
  /// Scaled by the inertia each joint is a double integrator with the loop gain (k_p + k_d s + k_i/s)/s² and the
  /// crossover ω⁶ = k_p² ω² + (k_d ω² − k_i)². The margin is the phase margin over ω (K. J. Åström and R. M. Murray,
  /// Feedback Systems, stability margins). Friction increases it, flexible joints reduce it.
  Eigen::VectorXd delay_margin() const;

private:
  void add_feedback(const Measured & measured, const Desired & desired, double period) noexcept;
  void add_torque_loop(const Measured & measured) noexcept;

  joint_dynamics::Arm arm_;
  Settings settings_;
  joint_dynamics::ArmState state_;
  bool has_torque_loop_;
  Eigen::VectorXd integral_;      // (n) rad/s²
  Eigen::VectorXd acceleration_;  // (n) rad/s², demand of the PID
  Eigen::VectorXd feedback_;      // (n) u_FB, N·m
  Eigen::VectorXd torque_;        // (n) u, N·m
  Alpha no_alpha_;                // (n, 2) NaN
};

}  // namespace joint_dynamics_controllers

#endif  // JOINT_DYNAMICS_CONTROLLERS__TORQUE_LAW_HPP_
