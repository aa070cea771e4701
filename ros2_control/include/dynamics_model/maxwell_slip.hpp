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

#ifndef DYNAMICS_MODEL__MAXWELL_SLIP_HPP_
#define DYNAMICS_MODEL__MAXWELL_SLIP_HPP_

#include <vector>

#include "dynamics_model/periodic_map.hpp"

namespace joint_dynamics
{

/// Extended Maxwell-slip model of one joint in position form [M6 eq 12-18].
///
///     δ_i ← clip(δ_i + θ(k+1) − θ(k), ±𝓑(θ(k+1)) Δ_i),   H = 𝓑(θ)⁻¹ Σ k_i δ_i,   Σ k_i Δ_i = 1,  −1 ≤ H ≤ 1
///
/// The state is the position of each slider, s_i = θ − δ_i [rad], kept by the caller; NaN: undeformed from here on.
class MaxwellSlip
{
public:
  /// Friction described without a way to reverse: M equal operators over `NO_PRESLIDING`.
  MaxwellSlip();
  /// {presliding, operators, r_Delta, r_k} or {presliding, limits, stiffness}.
  explicit MaxwellSlip(const Field & document);

  std::size_t operators() const noexcept {return limits_.size();}
  /// The same operators over `NO_PRESLIDING`, for joints described without hysteresis.
  MaxwellSlip at_once() const;
  /// Whether some of the friction reverses within `NO_PRESLIDING`.
  bool reverses_at_once() const noexcept {return immediate() > 0;}
  /// The same model whose immediate part reverses within `REVERSAL` (Python: `arm.with_reversal`).
  MaxwellSlip with_reversal() const;

  /// Advances the sliders (M) [rad] to the angle θ − θ̃ [rad] and returns H; `at`: the encoder's θ [rad], of 𝓑.
  double step(double angle, double at, std::vector<double> & sliders) const noexcept;

private:
  MaxwellSlip(PeriodicMap presliding, std::vector<double> limits, std::vector<double> shares);
  std::size_t immediate() const noexcept;

  PeriodicMap presliding_;      // 𝓑(θ), rad
  std::vector<double> limits_;  // Δ_i, (M)
  std::vector<double> shares_;  // k_i Δ_i, (M)
};

}  // namespace joint_dynamics

#endif  // DYNAMICS_MODEL__MAXWELL_SLIP_HPP_
