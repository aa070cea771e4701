// Copyright 2026 The joint_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#ifndef DYNAMICS_MODEL__TORSIONAL_STIFFNESS_HPP_
#define DYNAMICS_MODEL__TORSIONAL_STIFFNESS_HPP_

#include <limits>
#include <vector>

#include "dynamics_model/field.hpp"

namespace joint_dynamics
{

/// Torsional stiffness of one transmission: τ_E(φ) = Σ_{p=1..P} α_p φ^{2p−1} [M3 eq 4-10].
///
/// φ = θ − q − θ̃(θ), rad; τ_E in N·m on the joint side. Beyond `range` the stiffness stays constant. Without
/// coefficients the joint is rigid.
class TorsionalStiffness
{
public:
  TorsionalStiffness() = default;
  /// {coefficients: [α_1, …], range: [−φ, φ]}; N·m/rad^{2p−1}, rad.
  explicit TorsionalStiffness(const Field & document);
  /// The stiffness of a joint whose transmission is not described while others are.
  static TorsionalStiffness unknown();

  /// φ [rad] with τ_E(φ) = τ_J [N·m]; ±φ_max beyond the largest torque of the polynomial; 0 for a rigid joint.
  double deformation(double load) const noexcept;
  /// Whether the stiffness stays well above zero up to a torque [N·m], infinite where no limit is known.
  bool holds_up_to(double torque) const;

private:
  void take(std::vector<double> coefficients, double reach);
  double root(double load) const noexcept;
  double torque(double phi, double & slope) const noexcept;

  std::vector<double> alpha_;  // (P) N·m/rad^{2p−1}
  double phi_max_ = std::numeric_limits<double>::infinity();        // rad, where the polynomial bends over
  double elastic_range_ = std::numeric_limits<double>::infinity();  // rad, beyond which the stiffness stays constant
};

}  // namespace joint_dynamics

#endif  // DYNAMICS_MODEL__TORSIONAL_STIFFNESS_HPP_
