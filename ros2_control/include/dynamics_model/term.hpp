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

#ifndef DYNAMICS_MODEL__TERM_HPP_
#define DYNAMICS_MODEL__TERM_HPP_

#include <vector>

#include "dynamics_model/joint.hpp"
#include "dynamics_model/rigid_body.hpp"

namespace joint_dynamics
{

/// One column of a further term, times its parameter: a spring or friction beyond the model of the joint.
///
///     fourier    sin(h q), cos(h q);  spring  q^k
///     power      sgn(ω)|ω|^α
///     friction   F_T0, F_V2, F_V3, F_Cl, F_C1, F_T1 or F_T2 of `Friction` as 1; load_gain: τ_J; load_sign: sgn τ_J
///     stribeck   H exp(−(|ω|/V_S)^μ)
class Term
{
public:
  /// Reads `joints.<name>.terms`.
  /// @param document the list; missing: none
  /// @param follower the joint as those that move by themselves give it
  /// @param independent whether the joint moves by itself; terms of others depend on the position alone
  static std::vector<Term> read(
    const Field & document, const Follower & follower, bool independent);

  bool is_friction() const noexcept {return kind_ < Kind::sine;}
  Eigen::Index joint() const noexcept {return follower_.leader[0];}
  bool depends_on_load() const noexcept;
  bool depends_on_temperature() const noexcept {return warm_;}
  /// Adds the torque to tau (n) [N·m]; along a joint that follows others, Gᵀ of it.
  /// @param share (n) of the friction; state: q, ω, H, τ_J, T (n) [rad, rad/s, –, N·m, °C], T not finite: no effect
  void add(
    ConstVector share, ConstVector q, ConstVector omega, ConstVector H, ConstVector load, ConstVector temperature,
    VectorOut tau) const noexcept;
  /// Takes the range of validity of its joint, where the term depends on it.
  void bound(const Validity & validity) noexcept;

private:
  enum class Kind {law, power, load_gain, load_sign, sine, cosine, spring};
  Term(Kind kind, const Follower & follower, double order = 0.0)
  : kind_(kind), follower_(follower), order_(order) {}
  double column(double q, double omega, double H, double load, double temperature) const noexcept;

  Kind kind_;
  double value_ = 0.0;   // its parameter
  Follower follower_;
  Friction law_;         // of law; its bounds hold for all friction
  bool warm_ = false;    // depends on the temperature
  double order_ = 0.0;     // h of sine and cosine, exponent of spring and power
};

}  // namespace joint_dynamics

#endif  // DYNAMICS_MODEL__TERM_HPP_
