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

#include "dynamics_model/arm.hpp"

#include <algorithm>
#include <cmath>

namespace joint_dynamics
{
namespace
{

constexpr double UNDEFORMED = std::numeric_limits<double>::quiet_NaN();
constexpr double DRIVEN = 0.02;  // rad/s, desired speed below which `rest_gain` reduces the hysteresis

}  // namespace

ArmState Arm::begin() const
{
  const Eigen::Index n = size();
  ArmState state;
  state.alpha = scale_.cwiseMax(alpha_low_).cwiseMin(alpha_high_);
  state.temperature = state.H = state.load = Eigen::VectorXd::Zero(n);
  for (const Joint & joint : joints_) {
    state.temperature[static_cast<Eigen::Index>(state.sliders.size())] = joint.friction.T_0;
    state.sliders.emplace_back(joint.slip ? joint.slip->operators() : 0, UNDEFORMED);
  }
  return state;
}

void Arm::reset(ArmState & state) const noexcept
{
  for (std::vector<double> & sliders : state.sliders) {
    std::fill(sliders.begin(), sliders.end(), UNDEFORMED);
  }
}

void Arm::adapt(ArmState & state, ConstVector temperature, const Scale & alpha) const noexcept
{
  for (Eigen::Index j = 0; j < size(); ++j) {
    const Friction & friction = joints_[static_cast<std::size_t>(j)].friction;
    const double T = temperature[j];
    if (!std::isnan(T)) {
      state.temperature[j] = std::min(std::max(T, friction.T_min), friction.T_max);
    }
    for (const Eigen::Index k : {0, 1}) {
      if (!std::isnan(alpha(j, k))) {
        state.alpha(j, k) = std::min(std::max(alpha(j, k), alpha_low_(j, k)), alpha_high_(j, k));
      }
    }
  }
}

void Arm::motor_torque(
  ArmState & state, ConstVector q, ConstVector dq, ConstVector ddq, VectorOut tau) const noexcept
{
  body_.inverse_dynamics(q, dq, ddq, state.load);
  for (Eigen::Index j = 0; j < size(); ++j) {
    const auto index = static_cast<std::size_t>(j);
    if (options_.friction == FrictionMode::hysteresis) {
      // a changing load drives the hysteresis of a resting motor as well; but where friction is overcompensated,
      // nothing would hold the joint: hence rest_gain
      const double driven = options_.rest_gain + (1.0 - options_.rest_gain) * std::min(std::abs(dq[j]) / DRIVEN, 1.0);
      state.H[j] = driven * joints_[index].step(q[j], state.load[j], state.sliders[index]);
    } else {
      const double smoothing = options_.friction_smoothing;
      state.H[j] = smoothing > 0.0 ? std::tanh(dq[j] / smoothing) : sign(dq[j]);
    }
  }
  tau = state.load;
  add_rotors(ddq, tau);
  add_friction(state.alpha, share_, state.H, dq, state.load, state.temperature, tau);
  for (const Term & term : terms_) {
    term.add(share_, q, dq, state.H, state.load, state.temperature, tau);
  }
  if (!options_.gravity) {
    JointVector own(size());
    body_.gravity(q, own);
    tau -= own;
  }
}

void Arm::link_torque(ConstVector q, ConstVector dq, ConstVector ddq, VectorOut tau) const noexcept
{
  body_.inverse_dynamics(q, dq, ddq, tau);
}

void Arm::gravity(ConstVector q, VectorOut tau) const noexcept
{
  body_.gravity(q, tau);
}

void Arm::inertia_torque(ConstVector q, ConstVector acceleration, VectorOut tau) const noexcept
{
  body_.inertia_torque(q, acceleration, tau);
  add_rotors(acceleration, tau);
}

void Arm::inertia(ConstVector q, Eigen::Ref<Eigen::MatrixXd> matrix) const noexcept
{
  JointVector unit = JointVector::Zero(size());
  for (Eigen::Index j = 0; j < size(); ++j) {
    unit[j] = 1.0;
    inertia_torque(q, unit, matrix.col(j));
    unit[j] = 0.0;
  }
}

void Arm::friction_torque(
  ConstVector H, ConstVector speed, ConstVector load, ConstVector temperature, VectorOut tau) const noexcept
{
  const JointVector all = JointVector::Ones(size());
  tau.setZero();
  add_friction(scale_, all, H, speed, load, temperature, tau);
}

/// B q̈, and Ia cᵀ c q̈ of a coupled motor, whose own part is in B already [G eq 24-25].
void Arm::add_rotors(ConstVector acceleration, VectorOut tau) const noexcept
{
  for (Eigen::Index j = 0; j < size(); ++j) {
    tau[j] += joints_[static_cast<std::size_t>(j)].rotor_inertia * acceleration[j];
  }
  for (const CoupledMotor & motor : motors_) {
    const double turning = motor.ratios.dot(acceleration);
    for (Eigen::Index j = 0; j < size(); ++j) {
      tau[j] += motor.inertia * motor.ratios[j] * (turning - motor.ratios[j] * acceleration[j]);
    }
  }
}

/// f of the joints, and cᵀ (Fv c q̇ + Fs sgn(c q̇)) of coupled motors, less their own joint's Fv [G eq 25].
void Arm::add_friction(
  const Scale & alpha, ConstVector share, ConstVector H, ConstVector speed, ConstVector load,
  ConstVector temperature, VectorOut tau) const noexcept
{
  for (Eigen::Index j = 0; j < size(); ++j) {
    const Friction & friction = joints_[static_cast<std::size_t>(j)].friction;
    tau[j] += share[j] * friction.torque(alpha(j, 0), alpha(j, 1), H[j], speed[j], load[j], temperature[j]);
  }
  for (const CoupledMotor & motor : motors_) {
    const double turning = motor.ratios.dot(speed);
    for (Eigen::Index j = 0; j < size(); ++j) {
      const double c = motor.ratios[j];
      tau[j] += share[j] * c * (motor.viscous * (turning - c * speed[j]) + motor.coulomb * sign(turning));
    }
  }
}

}  // namespace joint_dynamics
