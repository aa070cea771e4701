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

#include "dynamics_model/maxwell_slip.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace joint_dynamics
{
namespace
{

constexpr double NO_PRESLIDING = 1e-9;  // rad, over which friction on the sign of the speed is described to reverse
constexpr double REVERSAL = 1e-4;       // rad, within which it reverses here: narrower, encoder noise would switch it
constexpr double ROUNDING = 1e-6;       // relative, of limits stated as lengths over the presliding length
constexpr int MAX_OPERATORS = 100;

/// Returns δ/(𝓑Δ) of one slider and moves it for the angle θ [rad]; reach: 𝓑Δ [rad].
///
/// δ ← clip(δ + Δθ, ±𝓑Δ) [M6 eq 12] reads s ← clip(s, θ − 𝓑Δ, θ + 𝓑Δ) for s = θ − δ, without rounding. NaN stays NaN.
double slide(double & at, double angle, double reach) noexcept
{
  const double low = angle - reach, high = angle + reach;
  at = at < low || std::isnan(low) ? low : at;
  at = at > high || std::isnan(high) ? high : at;
  const double delta = angle - at;
  // θ − s rounds; in slip H is ±1, not ±1 ∓ 1e-13
  const bool slips = std::abs(delta) >= reach - 4e-16 * (1.0 + std::abs(angle));
  return slips ? static_cast<double>((delta > 0.0) - (delta < 0.0)) : delta / reach;
}

}  // namespace

MaxwellSlip::MaxwellSlip()
: MaxwellSlip(PeriodicMap(NO_PRESLIDING), {1.0}, {1.0}) {}

MaxwellSlip::MaxwellSlip(PeriodicMap presliding, std::vector<double> limits, std::vector<double> shares)
: presliding_(std::move(presliding)), limits_(std::move(limits)), shares_(std::move(shares)) {}

MaxwellSlip::MaxwellSlip(const Field & document)
{
  document.only({"presliding", "operators", "r_Delta", "r_k", "limits", "stiffness"});
  const Field length = document.at("presliding");
  presliding_ = length.is_mapping() ? PeriodicMap(length) : PeriodicMap(length.positive());
  if (!(presliding_.minimum() > 0.0)) {
    length.refuse("a presliding length above 0 everywhere", std::to_string(presliding_.minimum()));
  }
  const double operators = document["operators"].number_or(4.0);
  if (!(operators >= 1.0 && operators <= MAX_OPERATORS && operators == std::floor(operators))) {
    document["operators"].refuse("a whole number from 1 to 100");
  }
  const double r_Delta = document["r_Delta"].present() ? document["r_Delta"].positive() : 4.0;
  const double r_k = document["r_k"].present() ? document["r_k"].positive() : 2.0;
  if (document["limits"].present()) {
    limits_ = document["limits"].numbers();
  } else {
    for (int i = 1; i <= static_cast<int>(operators); ++i) {
      limits_.push_back(std::pow(i / operators, r_Delta));  // Δ_i = (i/M)^{r_Δ} [M6 eq 17]
    }
  }
  const bool ascending = std::is_sorted(limits_.begin(), limits_.end(), std::less_equal<double>());
  if (limits_.empty() || limits_.size() > MAX_OPERATORS || !(limits_.front() > 0.0) || !ascending) {
    document["limits"].refuse("1 to 100 numbers 0 < Delta_1 < … < Delta_M", "others");
  }
  const std::size_t M = limits_.size();
  if (document["stiffness"].present()) {
    shares_ = document["stiffness"].numbers(M);
    if (std::any_of(shares_.begin(), shares_.end(), [](double k) {return !(k >= 0.0);})) {
      document["stiffness"].refuse("numbers of at least 0", "one below");
    }
    std::transform(shares_.begin(), shares_.end(), limits_.begin(), shares_.begin(), std::multiplies<double>());
  } else {
    for (std::size_t i = 0; i < M; ++i) {
      shares_.push_back(std::pow(static_cast<double>(M - i), r_k));  // k_i Δ_i ∝ (M+1−i)^{r_k} [M6 eq 18]
    }
    const double sum = std::accumulate(shares_.begin(), shares_.end(), 0.0);
    std::for_each(shares_.begin(), shares_.end(), [sum](double & share) {share /= sum;});
  }
  const double total = std::accumulate(shares_.begin(), shares_.end(), 0.0);
  if (!(std::abs(total - 1.0) <= 1e-6)) {
    document["stiffness"].refuse("stiffness with sum k_i Delta_i = 1", std::to_string(total));
  }
  std::for_each(shares_.begin(), shares_.end(), [total](double & share) {share /= total;});
}

MaxwellSlip MaxwellSlip::at_once() const
{
  return MaxwellSlip(PeriodicMap(NO_PRESLIDING), limits_, shares_);
}

std::size_t MaxwellSlip::immediate() const noexcept
{
  const double width = presliding_.maximum();
  const auto end = std::find_if(
    limits_.begin(), limits_.end(), [width](double limit) {return limit * width > (1.0 + ROUNDING) * NO_PRESLIDING;});
  return static_cast<std::size_t>(end - limits_.begin());
}

MaxwellSlip MaxwellSlip::with_reversal() const
{
  MaxwellSlip turned = *this;
  const double width = presliding_.maximum();
  const std::size_t count = immediate();
  if (count == 0) {
    return turned;
  }
  std::size_t last = count - 1;
  if (count == operators()) {
    turned.presliding_ = PeriodicMap(REVERSAL);
  } else if (limits_[last + 1] * width > REVERSAL) {
    turned.limits_[last] = REVERSAL / width;
  } else {
    ++last;
  }
  double sum = 0.0;
  for (std::size_t i = 0; i <= last; ++i) {
    sum += shares_[i];
    turned.shares_[i] = 0.0;
    turned.limits_[i] = i < last ? turned.limits_[last] * static_cast<double>(i + 1) / static_cast<double>(last + 1) :
      turned.limits_[last];
  }
  turned.shares_[last] = sum;
  return turned;
}

double MaxwellSlip::step(double angle, double at, std::vector<double> & sliders) const noexcept
{
  const double length = presliding_(at);
  double total = 0.0;
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    sliders[i] = std::isnan(sliders[i]) ? angle : sliders[i];
    total += slide(sliders[i], angle, length * limits_[i]) * shares_[i];
  }
  return total < -1.0 ? -1.0 : total > 1.0 ? 1.0 : total;
}

}  // namespace joint_dynamics
