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

#ifndef JOINT_DYNAMICS_CONTROLLERS__HANDOVER_HPP_
#define JOINT_DYNAMICS_CONTROLLERS__HANDOVER_HPP_

#include <algorithm>

#include <Eigen/Core>

#include "joint_dynamics_controllers/safety_gate.hpp"

namespace joint_dynamics_controllers
{

/// Whose command goes out.
enum class Source
{
  none,
  law,            ///< law and requested effort
  effort,         ///< the requested effort alone
  predecessor,    ///< the controller that held the joints before activation
};

/// Keeps the command of n joints continuous when its source changes: the difference fades out.
///
///     u(t) = u_new(t) + (1 − t/T) (u_old − u_new(0))  for 0 ≤ t < T, and u_new(t) from then on
class Handover
{
public:
  /// @param joints n; @param time T [s], 0: the new source applies at once
  Handover(Eigen::Index joints, double time)
  : difference_(Eigen::VectorXd::Zero(joints)), time_(time) {}

  /// Drops any remaining difference; commands come from `source`.
  void clear(Source source) noexcept
  {
    source_ = source;
    share_ = 0.0;
  }

  /// Adds the remaining difference to a command (n) of `source`, `period` s after the last one.
  void blend(Source source, Eigen::VectorXd & command, const SafetyGate & gate, double period) noexcept
  {
    if (source == source_) {
      wait(period);
    } else {
      if (source_ != Source::none && time_ > 0.0) {
        for (Eigen::Index j = 0; j < command.size(); ++j) {
          difference_[j] = gate.command()[j] - bounded(command[j], gate.settings().limit[j]);
        }
        share_ = 1.0;
      }
      source_ = source;
    }
    if (share_ > 0.0) {
      command += share_ * difference_;
    }
  }

  /// Lets the difference fade for `period` s without a command.
  void wait(double period) noexcept
  {
    if (share_ > 0.0 && period > 0.0) {
      share_ = std::max(share_ - period / time_, 0.0);
    }
  }

private:
  Eigen::VectorXd difference_;  // (n) u_old − u_new(0)
  double time_;
  double share_ = 0.0;  // 1 − t/T
  Source source_ = Source::none;
};

}  // namespace joint_dynamics_controllers

#endif  // JOINT_DYNAMICS_CONTROLLERS__HANDOVER_HPP_
