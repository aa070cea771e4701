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

#include "joint_dynamics_controllers/torque_law.hpp"

#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <Eigen/Eigenvalues>

#include "joint_dynamics_controllers/safety_gate.hpp"

namespace joint_dynamics_controllers
{

TorqueLaw::TorqueLaw(joint_dynamics::Arm arm, const Settings & settings)
: arm_(std::move(arm)),
  settings_(settings),
  state_(arm_.begin()),
  has_torque_loop_((settings.torque_gain.array() > 0.0).any()),
  integral_(Eigen::VectorXd::Zero(arm_.size())),
  acceleration_(integral_),
  feedback_(integral_),
  torque_(integral_),
  no_alpha_(Measured(arm_.size()).alpha)
{
  for (Eigen::Index j = 0; settings.feedback && j < arm_.size(); ++j) {
    const double kp = settings.kp[j], kd = settings.kd[j], ki = settings.ki[j];
    // s³ + k_d s² + k_p s + k_i is stable (Routh and Hurwitz).
    if (!(kp > 0.0 && kd * kp > ki)) {
      std::ostringstream text;
      text << "feedback: expected kp > 0 and kd kp > ki of every joint, found kp " << kp << ", kd " << kd << ", ki "
           << ki << " of " << arm_.joint_names()[static_cast<std::size_t>(j)];
      throw std::runtime_error(text.str());
    }
  }
}

void TorqueLaw::reset() noexcept
{
  arm_.reset(state_);
  integral_.setZero();
}

void TorqueLaw::update(const Measured & measured, const Desired & desired, double period) noexcept
{
  arm_.adapt(state_, measured.temperature, settings_.adapts ? measured.alpha : no_alpha_);
  arm_.motor_torque(state_, desired.position, desired.velocity, desired.acceleration, torque_);
  feedback_.setZero();
  if (settings_.feedback) {
    add_feedback(measured, desired, period);
  }
  if (has_torque_loop_) {
    add_torque_loop(measured);
  }
}

void TorqueLaw::add_feedback(const Measured & measured, const Desired & desired, double period) noexcept
{
  for (Eigen::Index j = 0; j < acceleration_.size(); ++j) {
    const double error = measured.position[j] - desired.position[j];
    const double rate = measured.velocity[j] - desired.velocity[j];
    integral_[j] = bounded(integral_[j] + settings_.ki[j] * error * period, settings_.integral_limit[j]);
    acceleration_[j] = -settings_.kd[j] * rate - settings_.kp[j] * error - integral_[j];
  }
  arm_.inertia_torque(desired.position, acceleration_, feedback_);
  torque_ += feedback_;
}

void TorqueLaw::add_torque_loop(const Measured & measured) noexcept
{
  for (Eigen::Index j = 0; j < torque_.size(); ++j) {
    const double error = state_.load[j] + feedback_[j] - measured.torque[j];
    torque_[j] += bounded(settings_.torque_gain[j] * error, settings_.torque_limit[j]);
  }
}

Eigen::VectorXd TorqueLaw::delay_margin() const
{
  Eigen::VectorXd margin = Eigen::VectorXd::Constant(arm_.size(), std::numeric_limits<double>::infinity());
  for (Eigen::Index j = 0; settings_.feedback && j < arm_.size(); ++j) {
    const double kp = settings_.kp[j], kd = settings_.kd[j], ki = settings_.ki[j];
    // x³ − k_d² x² + (2 k_d k_i − k_p²) x − k_i² = 0 of x = ω²: eigenvalues of the companion matrix.
    Eigen::Matrix3d companion;
    companion << kd * kd, kp * kp - 2.0 * kd * ki, ki * ki, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0;
    for (const std::complex<double> & x : companion.eigenvalues()) {
      if (x.real() > 0.0 && std::abs(x.imag()) <= 1e-9 * std::abs(x)) {
        const double omega = std::sqrt(x.real());
        // Of several crossovers the least margin counts.
        margin[j] = std::min(margin[j], std::atan2(kd * omega - ki / omega, kp) / omega);
      }
    }
  }
  return margin;
}

}  // namespace joint_dynamics_controllers
