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

#include "dynamics_model/joint.hpp"

#include <cmath>

namespace joint_dynamics
{
namespace
{

/// {value, std, prior, unit, method}; NaN where missing.
double value_of(const Field & document, bool rotor = false)
{
  if (!document.present()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (rotor) {
    document.only({"value", "std", "prior", "unit", "method", "identifiable"});
    document["identifiable"].truth_or(true);
  } else {
    document.only({"value", "std", "prior", "unit", "method"});
  }
  return document.at("value").number();
}

Validity validity_of(const Field & document)
{
  Validity validity;
  document.only({"speed", "load", "temperature"});
  if (document["speed"].present()) {
    validity.speed = document["speed"].positive();
  }
  validity.load = document["load"].number_or(validity.load);
  if (!(validity.load >= 0.0)) {
    document["load"].refuse("a number of at least 0");
  }
  if (document["temperature"].present()) {
    const std::vector<double> range = document["temperature"].numbers(2);
    if (range[0] > range[1]) {
      document["temperature"].refuse("the lower number first");
    }
    validity.coldest = range[0];
    validity.warmest = range[1];
  }
  return validity;
}

void check_directions(const Field & directions)
{
  directions.only({"positive", "negative"});
  for (const auto & [side, own] : directions.entries()) {
    own.at("F_C");
    own.at("F_V1");
    for (const auto & [name, field] : own.entries()) {
      field.number();
    }
  }
}

}  // namespace

Joint::Joint(const Field & document, std::vector<std::string> & remarks)
{
  document.only(
    {"drive_gain", "rotor_inertia", "friction", "stiffness", "damping", "kinematic_error", "backlash",
      "temperature_range", "validity", "gear_ratio", "terms"});
  const auto unused = [&remarks](const Field & field, const std::string & why) {
      if (field.present()) {
        remarks.push_back(field.path() + ": not used, " + why);
      }
    };
  const double rotor = value_of(document["rotor_inertia"], true);
  rotor_inertia = std::isnan(rotor) ? 0.0 : rotor;
  if (!(rotor_inertia >= 0.0)) {
    document["rotor_inertia"].refuse("a rotor inertia of at least 0 kg·m²", std::to_string(rotor_inertia));
  }
  drive_gain = value_of(document["drive_gain"]);
  if (drive_gain == 0.0) {
    document["drive_gain"].refuse("a drive gain other than 0", "0");
  }
  if (value_of(document["damping"]) < 0.0) {
    document["damping"].refuse("a damping of at least 0", "one below");
  }
  value_of(document["gear_ratio"]);
  const Field rubs = document["friction"];
  has_friction = rubs.present();
  if (has_friction) {
    friction = Friction(rubs);
    check_directions(rubs["directions"]);
    unused(rubs["directions"], "torques take the parameters of both directions together");
    if (rubs["maxwell_slip"].present()) {
      slip = MaxwellSlip(rubs["maxwell_slip"]);
    }
    if (rubs["scale"].present()) {
      const std::vector<double> given = rubs["scale"].numbers(2);
      scale = {{given[0], given[1]}};
    }
  }
  has_stiffness = document["stiffness"].present();
  if (has_stiffness) {
    stiffness = TorsionalStiffness(document["stiffness"]);
  }
  if (document["kinematic_error"].present()) {
    kinematic_error = PeriodicMap(document["kinematic_error"]);
  }
  if (document["backlash"].present()) {
    [[maybe_unused]] const PeriodicMap checked(document["backlash"]);
  }
  validity = validity_of(document["validity"]);
  unused(document["backlash"], "the motor is assumed on one side of its play");
  unused(document["damping"], "the transmission is assumed without a rate of deformation");
  unused(document["gear_ratio"], "all values are on the joint side");
  unused(document["temperature_range"], "T_min and T_max of the friction bound the temperature");
}

double Joint::step(double q, double load, std::vector<double> & sliders) const noexcept
{
  const double bent = q + stiffness.deformation(load);
  // one fixed-point step of θ = bent + θ̃(θ): the rest, θ̃ dθ̃/dθ, is below 1e-7 rad
  const double theta = bent + kinematic_error(bent);
  return slip->step(theta - kinematic_error(theta), theta, sliders);
}

}  // namespace joint_dynamics
