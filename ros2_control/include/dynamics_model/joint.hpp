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

#ifndef DYNAMICS_MODEL__JOINT_HPP_
#define DYNAMICS_MODEL__JOINT_HPP_

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "dynamics_model/friction.hpp"
#include "dynamics_model/maxwell_slip.hpp"
#include "dynamics_model/periodic_map.hpp"
#include "dynamics_model/torsional_stiffness.hpp"

namespace joint_dynamics
{

/// Range in which the friction of a joint was checked; infinite where nothing is stated.
struct Validity
{
  double speed = std::numeric_limits<double>::infinity();        ///< rad/s, motor side
  double load = std::numeric_limits<double>::infinity();         ///< N·m
  double coldest = -std::numeric_limits<double>::infinity();     ///< °C
  double warmest = std::numeric_limits<double>::infinity();      ///< °C
};

/// Drive of one joint as `joints.<name>` of a description states it; its terms are read by `Term`.
struct Joint
{
  /// A rigid joint without rotor and friction.
  Joint() = default;
  /// @param document `joints.<name>`
  /// @param remarks fields that are read and not used are added here
  Joint(const Field & document, std::vector<std::string> & remarks);

  bool has_friction = false;
  bool has_stiffness = false;
  Friction friction;
  std::optional<MaxwellSlip> slip;  ///< hysteresis of the friction, where described
  std::array<double, 2> scale{{1.0, 0.0}};  ///< α1, α2 [N·m·s/rad] of the description [M6 eq 24]
  TorsionalStiffness stiffness;
  PeriodicMap kinematic_error;      ///< θ̃(θ), rad
  Validity validity;
  double rotor_inertia = 0.0;       ///< B, kg·m², reflected
  double drive_gain = std::numeric_limits<double>::quiet_NaN();  ///< K_τ, N·m/A; NaN: not known

  /// Advances the sliders (M) [rad] of the hysteresis to the link angle q [rad] under τ_J [N·m]; returns H.
  ///
  /// The encoder of the motor shows θ = q + φ(τ_J) + θ̃; θ − θ̃ deforms the operators.
  double step(double q, double load, std::vector<double> & sliders) const noexcept;
};

}  // namespace joint_dynamics

#endif  // DYNAMICS_MODEL__JOINT_HPP_
