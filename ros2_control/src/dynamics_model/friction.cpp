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

#include "dynamics_model/friction.hpp"

#include <algorithm>
#include <cmath>

namespace joint_dynamics
{
namespace
{

struct Parameter
{
  const char * name;
  double Friction::* value;
};

constexpr Parameter PARAMETERS[] = {
  {"F_C0", &Friction::F_C0}, {"F_Cl", &Friction::F_Cl}, {"F_C1", &Friction::F_C1}, {"tau_max", &Friction::tau_max},
  {"F_S", &Friction::F_S}, {"V_S", &Friction::V_S}, {"mu", &Friction::mu}, {"F_V1", &Friction::F_V1},
  {"F_V2", &Friction::F_V2}, {"F_V3", &Friction::F_V3}, {"F_T0", &Friction::F_T0}, {"F_T1", &Friction::F_T1},
  {"F_T2", &Friction::F_T2}, {"T_0", &Friction::T_0}, {"T_min", &Friction::T_min}, {"T_max", &Friction::T_max},
  {"offset", &Friction::offset},
};
constexpr Parameter QUADRANTS[] = {
  {"a_m", &Friction::a_m}, {"b_m", &Friction::b_m}, {"a_g", &Friction::a_g}, {"b_g", &Friction::b_g},
  {"c_m", &Friction::c_m}, {"d_m", &Friction::d_m}, {"c_g", &Friction::c_g}, {"d_g", &Friction::d_g},
  {"F_V", &Friction::F_V}, {"tau_off", &Friction::tau_off}, {"dq_s", &Friction::dq_s},
};
constexpr const char * POSITIVE[] = {"V_S", "mu", "dq_s", "T_min"};

template<std::size_t N>
void take(Friction & friction, const Field & document, const Parameter (& known)[N], const char * needed)
{
  document.at(needed);
  for (const auto & [name, field] : document.entries()) {
    const std::string & key = name;
    const auto same = [&key](const Parameter & parameter) {return key == parameter.name;};
    const auto parameter = std::find_if(std::begin(known), std::end(known), same);
    if (parameter == std::end(known)) {
      field.refuse("a known parameter", "this unknown field");
    }
    const bool above = std::find(std::begin(POSITIVE), std::end(POSITIVE), key) != std::end(POSITIVE);
    friction.*parameter->value = above ? field.positive() : field.number();
  }
}

/// sgn(ω)√|ω|, continuous through zero.
double root_speed(double omega) noexcept
{
  return sign(omega) * std::sqrt(std::abs(omega));
}

}  // namespace

Friction::Friction(const Field & document)
{
  document.only(
    {"parameters", "standard_deviations", "maxwell_slip", "directions", "scale", "quadrants", "range", "method"});
  const Field parameters = document.at("parameters");
  V_S = 0.1;
  take(*this, parameters, PARAMETERS, "F_C0");
  F_S = parameters["F_S"].present() ? F_S : F_C0;
  if (!(tau_max >= 0.0)) {
    parameters["tau_max"].refuse("a number of at least 0");
  }
  if (!(T_max > T_min && T_min <= T_0 && T_0 <= T_max)) {
    parameters.refuse("T_min < T_max, and T_0 within them", "others");
  }
  quadrants = document["quadrants"].present();
  if (quadrants) {
    take(*this, document["quadrants"], QUADRANTS, "dq_s");
  }
}

void Friction::bound(double load, double low, double high) noexcept
{
  tau_max = std::min(tau_max, load);
  T_min = std::min(std::max(T_min, low), T_0);
  T_max = std::max(std::max(std::min(T_max, high), T_0), std::nextafter(T_min, INFINITY));
}

/// [M6 eq 11] prints (T − T0)⁻³, which diverges where its text says that the term is zero.
double Friction::warmth(double temperature) const noexcept
{
  const double T = temperature < T_min ? T_min : temperature > T_max ? T_max : temperature;
  return F_T0 + (F_T1 * (T - T_0) + F_T2 * (1.0 / (T * T * T) - 1.0 / (T_0 * T_0 * T_0)));
}

double Friction::dry(double H, double omega, double load) const noexcept
{
  if (!quadrants) {
    const double size = std::isnan(load) ? load : std::min(std::abs(load), tau_max);
    return (F_C0 + size * (F_Cl + size * F_C1)) * H;
  }
  // (P⁺(a_m + b_m E) + P⁻(a_g − b_g E) − 1) τ_J + (P⁺(c_m + d_m E) + P⁻(c_g + d_g E)) H,
  // P⁺ = (1 + H sgn τ_J)/2: in steady slip 1 where the joint drives its load [H eq 25, 30]
  const double E = std::exp(-std::abs(omega) / dq_s);
  const double motor = 0.5 * (1.0 + H * sign(load));
  const double generator = 1.0 - motor;
  const double gain = motor * (a_m + b_m * E) + generator * (a_g - b_g * E) - 1.0;
  return gain * load + (motor * (c_m + d_m * E) + generator * (c_g + d_g * E)) * H;
}

double Friction::viscous(double omega) const noexcept
{
  return omega * (F_V1 + std::abs(omega) * F_V2 + omega * omega * F_V3);
}

double Friction::speed_part(double H, double omega, double warm) const noexcept
{
  if (quadrants) {
    return F_V * omega + tau_off + root_speed(omega) * warm;
  }
  const double level = F_S - F_C0;
  const double stribeck = level != 0.0 ? level * std::exp(-std::pow(std::abs(omega) / V_S, mu)) : 0.0;
  return H * stribeck + viscous(omega) + root_speed(omega) * warm + offset;
}

double Friction::torque(
  double alpha_1, double alpha_2, double H, double omega, double load, double temperature) const noexcept
{
  const double speed = held(omega, speed_limit), tau = held(load, load_limit);
  const double warm = warmth(std::isfinite(temperature) ? temperature : T_0);
  return alpha_1 * dry(H, speed, tau) + alpha_2 * speed + speed_part(H, speed, warm);
}

}  // namespace joint_dynamics
