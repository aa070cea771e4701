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

#include "dynamics_model/term.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace joint_dynamics
{
namespace
{

constexpr int MAX_HARMONICS = 50;
constexpr int MAX_HARMONIC = 1000;
constexpr int MAX_EXPONENT = 9;          // of a spring
constexpr double MAX_TEMPERATURE = 1e4;  // °C, of T_0

/// A list of whole numbers, or the number N of those from 1 to N.
std::vector<double> whole_numbers(const Field & field, int count, int highest)
{
  std::vector<double> numbers;
  if (field.is_list()) {
    numbers = field.numbers();
  } else {
    for (double k = 1.0, last = std::min(field.number(), count + 1.0); k <= last; ++k) {
      numbers.push_back(k);
    }
  }
  const auto bad = [highest](double k) {return !(k >= 1.0 && k <= highest && k == std::floor(k));};
  if (numbers.empty() || numbers.size() > static_cast<std::size_t>(count) ||
    std::any_of(numbers.begin(), numbers.end(), bad))
  {
    field.refuse("at most " + std::to_string(count) + " whole numbers up to " + std::to_string(highest));
  }
  return numbers;
}

/// Parameters of `Friction` that a term scales.
const std::map<std::string, double Friction::*> PARAMETERS = {
  {"F_T0", &Friction::F_T0}, {"F_V2", &Friction::F_V2}, {"F_V3", &Friction::F_V3}, {"F_Cl", &Friction::F_Cl},
  {"F_C1", &Friction::F_C1}, {"F_T1", &Friction::F_T1}, {"F_T2", &Friction::F_T2}};

}  // namespace

std::vector<Term> Term::read(const Field & document, const Follower & follower, bool independent)
{
  std::vector<Term> terms;
  for (const Field & entry : document.items()) {
    entry.only({"document", "values", "std"});
    const Field given = entry.at("document");
    given.only({"fourier", "spring", "friction", "stribeck", "power", "T_0", "tau_max"});
    const std::vector<double> values = entry.at("values").numbers();
    const std::size_t first = terms.size();
    if (given["fourier"].present()) {
      for (const double h : whole_numbers(given["fourier"], MAX_HARMONICS, MAX_HARMONIC)) {
        terms.push_back(Term(Kind::sine, follower, h));
        terms.push_back(Term(Kind::cosine, follower, h));
      }
    }
    if (given["spring"].present()) {
      for (const double k : whole_numbers(given["spring"], MAX_EXPONENT, MAX_EXPONENT)) {
        terms.push_back(Term(Kind::spring, follower, k));
      }
    }
    if (given["power"].present()) {
      terms.push_back(Term(Kind::power, follower, given["power"].positive()));
    }
    if (given["stribeck"].present()) {
      const Field shape = given["stribeck"];
      Term term(Kind::law, follower);
      term.law_.F_S = 1.0;
      if (shape.is_mapping()) {
        shape.only({"V_S", "mu"});
        term.law_.mu = shape["mu"].present() ? shape["mu"].positive() : 1.0;
      }
      term.law_.V_S = (shape.is_mapping() ? shape.at("V_S") : shape).positive();
      terms.push_back(term);
    }
    if (given["friction"].present()) {
      const std::string name = given["friction"].text();
      const Kind kind = name == "load_gain" ? Kind::load_gain : name == "load_sign" ? Kind::load_sign : Kind::law;
      Term term(kind, follower);
      if (kind == Kind::law) {
        if (PARAMETERS.count(name) == 0) {
          given["friction"].refuse("F_T0, F_V2, F_V3, F_Cl, F_C1, F_T1, F_T2, load_gain or load_sign");
        }
        term.law_.*PARAMETERS.at(name) = 1.0;
      }
      term.warm_ = name == "F_T1" || name == "F_T2";
      if (term.warm_ && given["T_0"].present()) {
        term.law_.T_0 = given["T_0"].number();
      }
      if (!(std::abs(term.law_.T_0) < MAX_TEMPERATURE)) {
        given["T_0"].refuse("a temperature [°C]");
      }
      if (given["tau_max"].present()) {
        const double bound = given["tau_max"].positive();
        term.law_.tau_max = term.depends_on_load() ? bound : term.law_.tau_max;
      }
      terms.push_back(term);
    }
    if (given.entries().size() - given["T_0"].present() - given["tau_max"].present() != 1) {
      given.refuse("one of fourier, spring, friction, stribeck and power with its value", "none or several");
    }
    if (!independent && terms.back().is_friction()) {
      given.refuse("fourier or spring, since the joint follows others", "friction");
    }
    if (values.size() != terms.size() - first) {
      entry["values"].refuse(std::to_string(terms.size() - first) + " numbers", std::to_string(values.size()));
    }
    for (std::size_t k = 0; k < values.size(); ++k) {
      terms[first + k].value_ = values[k];
    }
  }
  return terms;
}

bool Term::depends_on_load() const noexcept
{
  return kind_ == Kind::load_gain || kind_ == Kind::load_sign || law_.F_Cl != 0.0 || law_.F_C1 != 0.0;
}

void Term::bound(const Validity & validity) noexcept
{
  law_.speed_limit = validity.speed;
  law_.load_limit = validity.load;
  law_.T_min = std::max(law_.T_min, validity.coldest);
  law_.T_max = std::min(law_.T_max, validity.warmest);
}

double Term::column(double q, double omega, double H, double load, double temperature) const noexcept
{
  const double tau = held(load, law_.load_limit), speed = held(omega, law_.speed_limit);
  switch (kind_) {
    case Kind::sine:
      return std::sin(order_ * q);
    case Kind::cosine:
      return std::cos(order_ * q);
    case Kind::spring:
      return std::pow(q, order_);
    case Kind::power:
      return sign(speed) * std::pow(std::abs(speed), order_);
    case Kind::load_gain:
      return held(tau, law_.tau_max);
    case Kind::load_sign:
      return sign(held(tau, law_.tau_max));
    default:
      break;
  }
  if (warm_ && !std::isfinite(temperature)) {
    return 0.0;
  }
  const double warm = warm_ ? law_.warmth(temperature) : law_.F_T0;
  return law_.dry(H, speed, tau) + law_.speed_part(H, speed, warm);
}

void Term::add(
  ConstVector share, ConstVector q, ConstVector omega, ConstVector H, ConstVector load, ConstVector temperature,
  VectorOut tau) const noexcept
{
  const Eigen::Index j = follower_.leader[0];
  const double value = value_ * column(follower_.position(q), omega[j], H[j], load[j], temperature[j]);
  for (int k = 0; k < follower_.leaders; ++k) {
    const auto leader = static_cast<std::size_t>(k);
    const Eigen::Index i = follower_.leader[leader];
    tau[i] += (is_friction() ? share[i] : 1.0) * follower_.ratio[leader] * value;
  }
}

}  // namespace joint_dynamics
