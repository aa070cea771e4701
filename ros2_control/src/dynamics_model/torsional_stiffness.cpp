// Copyright 2026 The joint_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#include "dynamics_model/torsional_stiffness.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace joint_dynamics
{
namespace
{

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr double UNKNOWN = 1e15;   // N·m/rad: the deformation vanishes against every other quantity
constexpr double SOFTEST = 0.05;   // least stiffness within the working range, as a share of that without load
constexpr int POINTS = 101;        // deformations at which a softening joint is checked
constexpr int MAX_STEPS = 200;     // of Newton's method with bisection; ten are usual

/// Σ c_i x^i.
double polynomial(const std::vector<double> & c, double x)
{
  return std::accumulate(c.rbegin(), c.rend(), 0.0, [x](double sum, double each) {return sum * x + each;});
}

/// Returns the positive roots of Σ c_i x^i at which it changes its sign, ascending: one at most between two of its slope.
std::vector<double> positive_roots(std::vector<double> c)
{
  while (!c.empty() && c.back() == 0.0) {
    c.pop_back();
  }
  if (c.size() < 2) {
    return {};
  }
  std::vector<double> slope;
  double bound = 1.0;  // of all roots (Cauchy)
  for (std::size_t i = 1; i < c.size(); ++i) {
    slope.push_back(static_cast<double>(i) * c[i]);
    bound = std::max(bound, 1.0 + std::abs(c[i - 1] / c.back()));
  }
  std::vector<double> ends = positive_roots(slope), roots;
  ends.push_back(bound);
  double low = 0.0;
  for (const double end : ends) {
    double a = low, b = end;
    const bool rises = polynomial(c, a) < 0.0;
    low = end;
    if (rises == (polynomial(c, b) < 0.0)) {
      continue;
    }
    for (double middle = 0.5 * (a + b); middle > a && middle < b; middle = 0.5 * (a + b)) {
      ((polynomial(c, middle) < 0.0) == rises ? a : b) = middle;
    }
    roots.push_back(b);
  }
  return roots;
}

/// Returns φ_max [rad], where the stiffness Σ (2p−1) α_p x^{p−1}, x = φ², first vanishes; ∞ where it never does.
double largest_deformation(const std::vector<double> & alpha)
{
  std::vector<double> factors;
  for (std::size_t p = 0; p < alpha.size(); ++p) {
    factors.push_back(static_cast<double>(2 * p + 1) * alpha[p]);
  }
  const std::vector<double> roots = positive_roots(factors);
  return roots.empty() ? INF : std::sqrt(roots.front());
}

double clipped(double value, double limit) noexcept
{
  return value < -limit ? -limit : value > limit ? limit : value;
}

}  // namespace

TorsionalStiffness::TorsionalStiffness(const Field & document)
{
  document.only({"coefficients", "standard_deviations", "range", "method"});
  const std::vector<double> coefficients = document.at("coefficients").numbers();
  if (coefficients.empty()) {
    document["coefficients"].refuse("at least one coefficient", "none");
  }
  double reach = INF;
  if (document["range"].present()) {
    const std::vector<double> range = document["range"].numbers(2);
    reach = std::max(std::abs(range[0]), std::abs(range[1]));
    if (range[0] > range[1] || !(reach > 0.0)) {
      document["range"].refuse("a range of deformation, the lower number first");
    }
  }
  take(coefficients, reach);
}

TorsionalStiffness TorsionalStiffness::unknown()
{
  TorsionalStiffness stiffness;
  stiffness.take({UNKNOWN}, INF);
  return stiffness;
}

void TorsionalStiffness::take(std::vector<double> coefficients, double reach)
{
  alpha_ = std::move(coefficients);
  phi_max_ = largest_deformation(alpha_);
  // one that bends over within its reach has no tangent to continue with
  elastic_range_ = phi_max_ > reach ? reach : INF;
}

/// Σ α_p φ^{2p−1} and its slope Σ (2p−1) α_p φ^{2p−2} [M3 eq 4-10, the slope printed as φ⁻¹Ψ, 0/0 at φ = 0].
double TorsionalStiffness::torque(double phi, double & slope) const noexcept
{
  const double square = phi * phi;
  double sum = 0.0;
  slope = 0.0;
  for (std::size_t p = alpha_.size(); p-- > 0; ) {
    sum = sum * square + alpha_[p];
    slope = slope * square + static_cast<double>(2 * p + 1) * alpha_[p];
  }
  return sum * phi;
}

/// α₁ φ + α₃ φ³ has with s = √(α₁/(3 |α₃|)) and x = 3 τ/(2 α₁ s) the root 2 s sinh(asinh(x)/3) where it hardens, and
/// 2 s sin(asin(x)/3) where it softens; neither has a difference of large numbers, unlike Cardano's.
double TorsionalStiffness::deformation(double load) const noexcept
{
  if (alpha_.empty()) {
    return 0.0;
  }
  if (std::isfinite(elastic_range_)) {
    double slope = 0.0;
    const double limit = torque(elastic_range_, slope);
    if (std::abs(load) > limit) {
      return std::copysign(elastic_range_ + (std::abs(load) - limit) / slope, load);
    }
  }
  if (alpha_.size() > 2 || !(alpha_[0] > 0.0)) {
    return root(load);
  }
  const double third = alpha_.size() == 2 ? alpha_[1] : 0.0;
  // a cubic term this small changes φ by less than its rounding for any torque
  const double s = std::sqrt(alpha_[0] / (3.0 * std::max(std::abs(third), 1e-30 * alpha_[0])));
  const double x = 1.5 * load / (alpha_[0] * s);
  return third < 0.0 ? 2.0 * s * std::sin(std::asin(clipped(x, 1.0)) / 3.0) : 2.0 * s * std::sinh(std::asinh(x) / 3.0);
}

/// Newton's steps, bisected where they leave the interval.
double TorsionalStiffness::root(double load) const noexcept
{
  const double target = std::abs(load);
  if (target == 0.0 || !std::isfinite(target)) {
    return load;
  }
  // where no coefficient is negative, the root is below that of each term alone
  double low = 0.0, high = INF, slope = 0.0;
  for (std::size_t p = 0; p < alpha_.size(); ++p) {
    if (alpha_[p] > 0.0) {
      high = std::min(high, std::pow(target / alpha_[p], 1.0 / static_cast<double>(2 * p + 1)));
    }
  }
  while (high < phi_max_ && torque(high, slope) < target * (1.0 - 1e-12)) {
    high *= 2.0;
  }
  high = std::min(high, phi_max_);
  double phi = high;
  for (int step = 0; step < MAX_STEPS; ++step) {
    const double difference = torque(phi, slope) - target;
    (difference < 0.0 ? low : high) = phi;
    double next = slope > 0.0 ? phi - difference / slope : -1.0;
    next = next >= low && next <= high ? next : 0.5 * (low + high);
    const bool done = std::abs(next - phi) <= 4e-16 * phi;
    phi = next;
    if (done) {
      break;
    }
  }
  return std::copysign(phi, load);
}

bool TorsionalStiffness::holds_up_to(double working) const
{
  const auto negative = [](double a) {return a < 0.0;};
  const auto above = [](double a) {return a > 0.0;};
  if (alpha_.empty()) {
    return true;
  }
  if (std::none_of(alpha_.begin(), alpha_.end(), negative)) {
    return std::any_of(alpha_.begin(), alpha_.end(), above);
  }
  double soft = 0.0, slope = 0.0, largest = INF;
  torque(0.0, soft);
  if (!std::isfinite(elastic_range_) && std::isfinite(phi_max_)) {
    largest = torque(phi_max_, slope);
  }
  if (!(soft > 0.0 && largest > working)) {
    return false;
  }
  // the polynomial may dip in between, so all of the way counts
  const double end = std::isfinite(working) ? deformation(working) : 0.0;
  for (int i = 0; i < POINTS; ++i) {
    torque(std::min(end * i / (POINTS - 1), elastic_range_), slope);
    if (!(slope >= SOFTEST * soft)) {
      return false;
    }
  }
  return true;
}

}  // namespace joint_dynamics
