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

#ifndef JOINT_DYNAMICS_CONTROLLERS__POSITION_CHECK_HPP_
#define JOINT_DYNAMICS_CONTROLLERS__POSITION_CHECK_HPP_

#include <cmath>
#include <limits>

namespace joint_dynamics_controllers
{

/// Decides whether the measured position of one joint is plausible.
///
///     |q − q_before| ≤ max(v_max, |q̇|) |t − t_before| + margin
///
/// A position that violates it is a jump. Positions are trusted again after `RECOVERY_TIME` without a jump: an encoder
/// that flips to and fro is never trusted; one that slipped once is, and the tracking tolerance bounds its error.
class PositionCheck
{
public:
  static constexpr double RECOVERY_TIME = 0.1;  // s; several periods of the slowest controllers, 25 Hz

  /// Takes a position [rad] measured at `time` s; returns whether it is trusted. A value that is not finite is not
  /// compared: whoever uses it refuses it.
  /// @param reported q̇, rad/s, NaN: unknown; @param reach v_max, rad/s, infinite: unknown; @param margin rad
  bool take(double q, double time, double reported, double reach, double margin) noexcept
  {
    if (!std::isfinite(q)) {
      return true;
    }
    const double speed = std::abs(reported);
    // Without a limit the reported speed bounds the step; without either, nothing does.
    const double bound = std::isfinite(reach) ? std::fmax(reach, speed) :
      (std::isfinite(speed) ? speed : std::numeric_limits<double>::infinity());
    const double size = std::abs(q - q_);
    const double period = std::abs(time - time_);
    const bool jumps = std::isfinite(bound) && size > bound * period + margin;
    if (jumps) {
      jumped_ = time;
      jump_ = size;
    }
    q_ = q;
    time_ = time;
    if (!jumps && std::abs(time - jumped_) >= RECOVERY_TIME) {
      jumped_ = std::numeric_limits<double>::quiet_NaN();
    }
    return std::isnan(jumped_);
  }

  /// Size of the last jump, rad.
  double jump() const noexcept {return jump_;}

private:
  double q_ = std::numeric_limits<double>::quiet_NaN();       // rad, last position
  double time_ = 0.0;                                         // s, of it
  double jumped_ = std::numeric_limits<double>::quiet_NaN();  // s, last jump; NaN: none, or trusted again
  double jump_ = 0.0;                                         // rad
};

}  // namespace joint_dynamics_controllers

#endif  // JOINT_DYNAMICS_CONTROLLERS__POSITION_CHECK_HPP_
