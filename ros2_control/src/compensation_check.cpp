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

#include "joint_dynamics_controllers/compensation_check.hpp"

#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>

#include "dynamics_model/field.hpp"

namespace joint_dynamics_controllers
{
namespace
{

constexpr double LIMIT_UNKNOWN = 3.14159;  // rad/s, speed at which a joint without a limit in the URDF is judged
constexpr double SIGNIFICANT = 2.0;        // standard deviations

/// Coulomb and viscous friction of one direction, and their standard deviations; N·m and N·m·s/rad.
struct Level
{
  double F_C, F_V1, F_C_std, F_V1_std;
};

Level level_of(const joint_dynamics::Field & friction, const char * direction)
{
  const joint_dynamics::Field parameters = friction["parameters"], deviations = friction["standard_deviations"];
  const joint_dynamics::Field own = friction["directions"][direction];
  Level level{
    parameters["F_C0"].number_or(0.0), parameters["F_V1"].number_or(0.0), deviations["F_C0"].number_or(0.0),
    deviations["F_V1"].number_or(0.0)};
  level.F_C = own["F_C"].number_or(level.F_C);
  level.F_V1 = own["F_V1"].number_or(level.F_V1);
  level.F_C_std = own["F_C_std"].number_or(level.F_C_std);
  level.F_V1_std = own["F_V1_std"].number_or(level.F_V1_std);
  return level;
}

}  // namespace

void refuse_run_away(
  const joint_dynamics::Arm & arm, const joint_dynamics::Field & description, const Eigen::VectorXd & gain)
{
  const Eigen::VectorXd zero = Eigen::VectorXd::Zero(arm.size());
  const Eigen::VectorXd unknown =
    Eigen::VectorXd::Constant(arm.size(), std::numeric_limits<double>::quiet_NaN());
  for (Eigen::Index j = 0; j < arm.size(); ++j) {
    const std::string & name = arm.joint_names()[static_cast<std::size_t>(j)];
    const joint_dynamics::Field friction = description["joints"][name]["friction"];
    const double alpha_1 = arm.constants()[static_cast<std::size_t>(j)].scale[0];
    const double limit = arm.limits().velocity[j];
    const double v = std::isfinite(limit) ? limit : LIMIT_UNKNOWN;
    for (const auto & [direction, side] : {std::pair{"positive", 1.0}, std::pair{"negative", -1.0}}) {
      Eigen::VectorXd H = zero, speed = zero, torque = zero;
      H[j] = side;
      speed[j] = side * v;
      arm.friction_torque(H, speed, zero, unknown, torque);
      const double f = side * torque[j];
      const Level both = level_of(friction, "");
      const Level own = level_of(friction, direction);
      const double identified = f + alpha_1 * (own.F_C - both.F_C) + (own.F_V1 - both.F_V1) * v;
      const double excess = gain[j] * f - identified;
      const double deviation = std::hypot(alpha_1 * own.F_C_std, own.F_V1_std * v);
      if (!(excess <= SIGNIFICANT * deviation + 1e-9 * std::abs(f))) {
        std::ostringstream text;
        text << "friction compensation: expected none that would run away, found " << excess << " N·m more than "
             << "friction for " << name << " in " << direction << " direction at " << v << " rad/s; lower "
             << "friction_gain." << name << ", or set check_compensation to false";
        throw std::runtime_error(text.str());
      }
    }
  }
}

}  // namespace joint_dynamics_controllers
