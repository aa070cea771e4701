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
#ifndef JOINT_DYNAMICS_CONTROLLERS__GUARDED_LAW_HPP_
#define JOINT_DYNAMICS_CONTROLLERS__GUARDED_LAW_HPP_

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <vector>

#include "joint_dynamics_controllers/law_host.hpp"

namespace joint_dynamics_controllers
{
/// What becomes of a law that is late or fails, on this side of the interpreter.
/**
 * The gate in Python bounds every command that comes in time. What is left is a step that does not
 * come, or a law that has failed:
 *
 *     late for less than `late_timeout`    the last command is held
 *     late for longer, failed, not finite  straight to the safe command within `ramp_time`
 *     there                                the safe command is held, and `step` returns false
 *
 * The safe command is that of the last step that came, gravity where the arm was then (or zero,
 * parameter `safe_command`). Nothing here allocates after `reset`.
 */
class GuardedLaw
{
public:
  struct Times
  {
    std::chrono::nanoseconds step_timeout{};
    double late_timeout = 0.0;
    double ramp_time = 0.0;
  };

  enum class Phase { RUNNING, RAMPING, ENDED };

  /// Begin anew, from the command with which the host was activated.
  void reset(LawHost & host, const Times & times)
  {
    host_ = &host;
    times_ = times;
    const Arrays & arrays = host.arrays();
    command_.assign(arrays.joints, 0.0);
    safe_ = from_ = command_;
    if (finite(arrays.command)) {
      std::copy_n(arrays.command, arrays.joints, command_.begin());
    }
    if (finite(arrays.safe)) {
      std::copy_n(arrays.safe, arrays.joints, safe_.begin());
    }
    phase_ = Phase::RUNNING;
    late_ = 0.0;
    late_steps_ = 0;
  }

  /// Whether the arrays may be written before the next `step`.
  bool takes_input() { return phase_ == Phase::RUNNING && host_->ready(); }

  /// Make one step of `period` s; false when it is over, and the controller in error.
  bool step(double period)
  {
    // Also where it is not a number.
    period = period > 0.0 ? period : 0.0;
    if (phase_ == Phase::RUNNING) {
      follow(period);
    }
    if (phase_ == Phase::RAMPING) {
      ramp(period);
      return true;
    }
    return phase_ == Phase::RUNNING;
  }

  /// N·m or A, (n,).
  const std::vector<double> & command() const { return command_; }
  Outcome outcome() const { return outcome_; }
  Phase phase() const { return phase_; }
  /// Steps since `reset` that did not come in time.
  std::size_t late_steps() const { return late_steps_; }

private:
  void follow(double period)
  {
    const Outcome outcome = host_->step(times_.step_timeout);
    outcome_ = outcome;
    if (outcome == Outcome::LATE) {
      ++late_steps_;
      late_ += period;
      if (late_ > times_.late_timeout) {
        fail();
      }
      return;
    }
    late_ = 0.0;
    const Arrays & arrays = host_->arrays();
    if (finite(arrays.safe)) {
      std::copy_n(arrays.safe, arrays.joints, safe_.begin());
    }
    if ((outcome == Outcome::LAW || outcome == Outcome::SAFE) && finite(arrays.command)) {
      std::copy_n(arrays.command, arrays.joints, command_.begin());
    } else {
      fail();
    }
  }

  void fail()
  {
    phase_ = Phase::RAMPING;
    elapsed_ = 0.0;
    std::copy(command_.begin(), command_.end(), from_.begin());
  }

  void ramp(double period)
  {
    elapsed_ += period;
    const double share = std::min(elapsed_ / times_.ramp_time, 1.0);
    for (std::size_t k = 0; k < command_.size(); ++k) {
      command_[k] = from_[k] + share * (safe_[k] - from_[k]);
    }
    if (share >= 1.0) {
      phase_ = Phase::ENDED;
    }
  }

  bool finite(const double * values) const
  {
    return std::all_of(values, values + command_.size(), [](double value) {
      return std::isfinite(value);
    });
  }

  LawHost * host_ = nullptr;
  Times times_;
  std::vector<double> command_;
  std::vector<double> safe_;
  std::vector<double> from_;
  Phase phase_ = Phase::RUNNING;
  Outcome outcome_ = Outcome::CLOSED;
  double late_ = 0.0;
  double elapsed_ = 0.0;
  std::size_t late_steps_ = 0;
};

}  // namespace joint_dynamics_controllers

#endif  // JOINT_DYNAMICS_CONTROLLERS__GUARDED_LAW_HPP_
