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

#ifndef DYNAMICS_MODEL__FRICTION_HPP_
#define DYNAMICS_MODEL__FRICTION_HPP_

#include <limits>

#include "dynamics_model/field.hpp"

namespace joint_dynamics
{

/// Friction of one joint on the motor coordinate at a given hysteresis H; the parameters by their names in Python.
///
///     f = α1 F(τ_J) H + α2 ω + F_v,   F(τ_J) = F_C0 + F_Cl |τ_J| + F_C1 τ_J²                     [M6 eq 20, 24]
///     F_v = H (F_S − F_C0) exp(−(|ω|/V_S)^μ) + F_V1 ω + F_V2 |ω|ω + F_V3 ω³
///           + sgn(ω)√|ω| (F_T0 + F_T1 (T − T0) + F_T2 (T⁻³ − T0⁻³)) + offset                     [M6 eq 11, corrected]
///
/// [M6 eq 11] has sgn ω at the Stribeck term, which jumps at standstill; H does not. With `quadrants` Hamon's dry
/// friction takes the place of F H, of the Stribeck and viscous terms and of the offset [H eq 30].
struct Friction
{
  /// No friction.
  Friction() = default;
  /// The `friction` of a joint, without its Maxwell-slip part.
  explicit Friction(const Field & document);

  /// Holds the friction constant beyond |τ_J| = load [N·m] and outside [low, high] [°C]; T0 stays within.
  void bound(double load, double low, double high) noexcept;
  bool depends_on_load() const noexcept {return F_Cl != 0.0 || F_C1 != 0.0 || quadrants;}
  bool depends_on_temperature() const noexcept {return F_T1 != 0.0 || F_T2 != 0.0;}

  /// Factor of sgn(ω)√|ω| at T [°C].
  double warmth(double temperature) const noexcept;
  /// F(τ_J) H, or Hamon's, N·m: the part that α1 scales.
  double dry(double H, double omega, double load) const noexcept;
  /// F_V1 ω + F_V2 |ω|ω + F_V3 ω³, N·m.
  double viscous(double omega) const noexcept;
  /// F_v, N·m; warm: `warmth` at the temperature.
  double speed_part(double H, double omega, double warm) const noexcept;
  /// f, N·m, held at the limits of its range; T not finite: T0.
  double torque(double alpha_1, double alpha_2, double H, double omega, double load, double temperature) const noexcept;

  double F_C0 = 0.0;     ///< N·m
  double F_Cl = 0.0;     ///< –
  double F_C1 = 0.0;     ///< 1/(N·m)
  double tau_max = std::numeric_limits<double>::infinity();  ///< N·m, bound of |τ_J|
  double F_S = 0.0;      ///< N·m
  double V_S = 1.0;      ///< rad/s
  double mu = 1.0;       ///< –
  double F_V1 = 0.0;     ///< N·m·s/rad
  double F_V2 = 0.0;     ///< N·m·s²/rad²
  double F_V3 = 0.0;     ///< N·m·s³/rad³
  double F_T0 = 0.0;     ///< N·m·√(s/rad)
  double F_T1 = 0.0;     ///< N·m·√(s/rad)/°C
  double F_T2 = 0.0;     ///< N·m·√(s/rad)·°C³
  double T_0 = 25.0;     ///< °C
  double T_min = 5.0;    ///< °C
  double T_max = 80.0;   ///< °C
  double offset = 0.0;   ///< N·m
  bool quadrants = false;  ///< whether the following replace the dry and viscous part
  double a_m = 1.0;      ///< –, motor quadrants
  double b_m = 0.0;      ///< –
  double a_g = 1.0;      ///< –, generator quadrants
  double b_g = 0.0;      ///< –
  double c_m = 0.0;      ///< N·m
  double d_m = 0.0;      ///< N·m
  double c_g = 0.0;      ///< N·m
  double d_g = 0.0;      ///< N·m
  double F_V = 0.0;      ///< N·m·s/rad
  double tau_off = 0.0;  ///< N·m
  double dq_s = 1.0;     ///< rad/s
  double speed_limit = std::numeric_limits<double>::infinity();  ///< rad/s, `validity.speed`
  double load_limit = std::numeric_limits<double>::infinity();   ///< N·m, `validity.load`
};

/// Returns a value clipped to ±limit; NaN stays NaN.
inline double held(double value, double limit) noexcept
{
  return value < -limit ? -limit : value > limit ? limit : value;
}

/// Returns −1, 0 or 1; NaN for NaN.
inline double sign(double value) noexcept
{
  return value > 0.0 ? 1.0 : value < 0.0 ? -1.0 : value;
}

}  // namespace joint_dynamics

#endif  // DYNAMICS_MODEL__FRICTION_HPP_
