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

#include "dynamics_model/torsional_stiffness.hpp"

#include <algorithm>
#include <cmath>

namespace joint_dynamics
{
namespace
{
constexpr double SOFTEST = 0.05;     // least stiffness within the working range, as a share of that without load
constexpr double NEGLIGIBLE = 1e-30; // α_2/α_1, rad⁻²: such a cubic term changes φ by less than its rounding
}  // namespace

TorsionalStiffness::TorsionalStiffness(const Field & document)
{
  document.only({"coefficients", "standard_deviations", "range", "method"});
  const std::vector<double> alpha = document.at("coefficients").numbers();
  if (alpha.empty() || alpha.size() > 2 || !(alpha[0] > 0.0)) {
    document["coefficients"].refuse("one or two coefficients, the first above 0", "others");
  }
  first_ = alpha[0];
  second_ = alpha.size() == 2 ? alpha[1] : 0.0;
  if (document["range"].present()) {
    const std::vector<double> given = document["range"].numbers(2);
    const double reach = std::max(std::abs(given[0]), std::abs(given[1]));
    if (given[0] > given[1] || !(reach > 0.0)) {
      document["range"].refuse("a range of deformation, the lower number first", "another one");
    }
    // a stiffness that vanishes within its range has no tangent to continue with
    range_ = slope(reach) > 0.0 ? reach : range_;
  }
}

/// With s = √(α_1/(3 |α_2|)) and x = 3 τ/(2 α_1 s) the root of α_1 φ + α_2 φ³ = τ is 2 s sinh(asinh(x)/3) of a joint that
/// hardens, 2 s sin(asin(x)/3) of one that softens. Neither has a difference of large numbers, unlike Cardano's.
double TorsionalStiffness::deformation(double load) const noexcept
{
  if (first_ == 0.0) {
    return 0.0;
  }
  if (std::isfinite(range_) && std::abs(load) > torque(range_)) {
    return std::copysign(range_ + (std::abs(load) - torque(range_)) / slope(range_), load);
  }
  const double s = std::sqrt(first_ / (3.0 * std::max(std::abs(second_), NEGLIGIBLE * first_)));
  const double x = 1.5 * load / (first_ * s);
  const double bounded = x < -1.0 ? -1.0 : x > 1.0 ? 1.0 : x;
  return 2.0 * s * (second_ < 0.0 ? std::sin(std::asin(bounded) / 3.0) : std::sinh(std::asinh(x) / 3.0));
}

bool TorsionalStiffness::holds_up_to(double working) const noexcept
{
  if (second_ >= 0.0) {
    return true;
  }
  // beyond a range the spring goes on; without one its torque has a maximum
  const double largest = std::isfinite(range_) ? INFINITY : torque(std::sqrt(-first_ / (3.0 * second_)));
  return working < largest &&
         slope(std::min(deformation(working), range_)) >= SOFTEST * first_;
}

}  // namespace joint_dynamics
