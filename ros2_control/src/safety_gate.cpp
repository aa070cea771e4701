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

#include "joint_dynamics_controllers/safety_gate.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

namespace joint_dynamics_controllers
{

SafetyGate::SafetyGate(const Settings & settings, const std::vector<std::string> & joint_names)
: settings_(settings),
  law_(Eigen::VectorXd::Zero(settings.limit.size())),
  command_(Eigen::VectorXd::Zero(settings.limit.size()))
{
  for (Eigen::Index j = 0; j < settings.limit.size(); ++j) {
    const std::string & name = joint_names[static_cast<std::size_t>(j)];
    const double limit = settings.limit[j];
    const double rate = settings.rate[j];
    std::ostringstream text;
    if (!(std::isfinite(limit) && limit > 0.0)) {
      text << "effort_limit." << name << ": expected a finite number > 0, here or as effort in the URDF, found " << limit;
      throw std::runtime_error(text.str());
    }
    // Within rounding: at a ramp_time of 0.04 s the default rate is exactly the least.
    const double least = 2.0 * limit / settings.ramp_time;
    if (!(std::isfinite(rate) && rate >= least * (1.0 - 1e-9))) {
      text << "effort_rate." << name << ": expected 2 effort_limit / ramp_time = " << least << " or more, found " << rate;
      throw std::runtime_error(text.str());
    }
  }
}

void SafetyGate::open(const Eigen::VectorXd & begin, bool continues) noexcept
{
  for (Eigen::Index j = 0; j < command_.size(); ++j) {
    command_[j] = bounded(begin[j], settings_.limit[j]);
    law_[j] = command_[j];
  }
  weight_ = continues ? 1.0 : 0.0;
  has_law_ = continues;
  failed_ = is_safe_ = false;
}

void SafetyGate::follow(const Eigen::VectorXd & law, const Eigen::VectorXd & safe, double period) noexcept
{
  failed_ = failed_ || !law.allFinite();
  if (failed_) {
    step(safe, -1.0, period);
    return;
  }
  for (Eigen::Index j = 0; j < law_.size(); ++j) {
    law_[j] = bounded(law[j], settings_.limit[j]);
  }
  has_law_ = true;
  step(safe, 1.0, period);
}

void SafetyGate::fall_back(const Eigen::VectorXd & safe, double period) noexcept
{
  step(safe, -1.0, period);
}

void SafetyGate::step(const Eigen::VectorXd & safe, double direction, double period) noexcept
{
  const double T = period > 0.0 ? std::min(period, settings_.max_period) : 0.0;
  weight_ = std::min(std::max(weight_ + direction * T / settings_.ramp_time, 0.0), 1.0);
  // Just opened: only the rate bounds the way to the safe command.
  const double w = has_law_ ? weight_ : 0.0;
  is_safe_ = w <= 0.0;
  for (Eigen::Index j = 0; j < command_.size(); ++j) {
    const double limit = settings_.limit[j];
    const double rest = bounded(safe[j], limit);
    const double reach = settings_.rate[j] * T;
    const double target = w * law_[j] + (1.0 - w) * rest;
    command_[j] = bounded(std::min(std::max(target, command_[j] - reach), command_[j] + reach), limit);
    is_safe_ = is_safe_ && command_[j] == rest;
  }
}

}  // namespace joint_dynamics_controllers
