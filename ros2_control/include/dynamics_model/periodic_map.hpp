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

#ifndef DYNAMICS_MODEL__PERIODIC_MAP_HPP_
#define DYNAMICS_MODEL__PERIODIC_MAP_HPP_

#include <vector>

#include "dynamics_model/field.hpp"

namespace joint_dynamics
{

/// Map over the joint angle: kinematic error θ̃(θ) or presliding length 𝓑(θ), rad [M4 eq 30-32].
///
/// An equispaced table over one period, linear between its points; a Fourier series is tabulated at 720.
class PeriodicMap
{
public:
  /// The map that is the same everywhere.
  explicit PeriodicMap(double value = 0.0);
  /// {type: table, period, values} or {type: fourier, period, mean, cosine, sine}.
  explicit PeriodicMap(const Field & document);

  /// Value [rad] at θ [rad]; NaN at a θ that is not finite.
  double operator()(double theta) const noexcept;
  double minimum() const noexcept;
  double maximum() const noexcept;

private:
  void close();

  std::vector<double> points_;  // closed by the first value, twice: rounding alone meets the last
  double per_turn_ = 1.0;       // 1/rad, periods per angle
};

}  // namespace joint_dynamics

#endif  // DYNAMICS_MODEL__PERIODIC_MAP_HPP_
