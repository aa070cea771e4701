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

#ifndef DYNAMICS_MODEL__TORSIONAL_STIFFNESS_HPP_
#define DYNAMICS_MODEL__TORSIONAL_STIFFNESS_HPP_

#include <limits>

#include "dynamics_model/field.hpp"

namespace joint_dynamics
{

/// Torsional stiffness of one transmission: τ_E(φ) = α_1 φ + α_2 φ³, k(φ) = α_1 + 3 α_2 φ² [M3 eq 4-10, P ≤ 2].
///
/// φ = θ − q − θ̃(θ), rad; τ_E in N·m on the joint side. Beyond `range` the stiffness stays constant.
class TorsionalStiffness
{
public:
  /// A rigid joint.
  TorsionalStiffness() = default;
  /// A linear spring, N·m/rad.
  explicit TorsionalStiffness(double stiffness)
  : first_(stiffness) {}
  /// {coefficients: [α_1, α_2], range: [−φ, φ]}; N·m/rad^{2p−1}, rad.
  explicit TorsionalStiffness(const Field & document);

  /// φ [rad] with τ_E(φ) = τ_J [N·m]; ±φ_max beyond the largest torque of a softening joint; 0 for a rigid one.
  double deformation(double load) const noexcept;
  /// Whether the stiffness stays well above zero up to a torque [N·m], infinite where no limit is known.
  bool holds_up_to(double torque) const noexcept;

private:
  double torque(double phi) const noexcept {return phi * (first_ + phi * phi * second_);}
  double slope(double phi) const noexcept {return first_ + 3.0 * phi * phi * second_;}

  double first_ = 0.0;   // α_1, N·m/rad; 0: rigid
  double second_ = 0.0;  // α_2, N·m/rad³
  double range_ = std::numeric_limits<double>::infinity();  // rad, beyond which the stiffness stays constant
};

}  // namespace joint_dynamics

#endif  // DYNAMICS_MODEL__TORSIONAL_STIFFNESS_HPP_
