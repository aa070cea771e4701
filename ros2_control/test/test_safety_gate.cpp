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

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <stdexcept>

#include "joint_dynamics_controllers/handover.hpp"
#include "joint_dynamics_controllers/position_check.hpp"
#include "joint_dynamics_controllers/safety_gate.hpp"

namespace joint_dynamics_controllers
{
namespace
{

constexpr double NONE = std::numeric_limits<double>::quiet_NaN();
constexpr double INF = std::numeric_limits<double>::infinity();
constexpr double PERIOD = 0.01;

Eigen::VectorXd both(double first, double second) {return Eigen::Vector2d(first, second);}

SafetyGate::Settings bounds()
{
  SafetyGate::Settings settings;
  settings.limit = both(80.0, 20.0);
  settings.rate = both(4000.0, 1000.0);
  settings.ramp_time = 0.5;
  return settings;
}

SafetyGate made(const SafetyGate::Settings & settings) {return SafetyGate(settings, {"shoulder", "elbow"});}

std::string refusal(const SafetyGate::Settings & settings)
{
  try {
    (void)made(settings);
  } catch (const std::runtime_error & error) {
    return error.what();
  }
  return "";
}

TEST(SafetyGate, refuses_bounds_that_bound_nothing)
{
  for (const double limit : {NONE, INF, 0.0, -1.0}) {
    auto settings = bounds();
    settings.limit[1] = limit;
    EXPECT_NE(refusal(settings).find("effort_limit.elbow"), std::string::npos) << limit;
  }
  for (const double rate : {NONE, INF, 0.0, 79.0}) {
    auto settings = bounds();
    settings.rate[1] = rate;
    EXPECT_NE(refusal(settings).find("effort_rate.elbow"), std::string::npos) << rate;
  }
}

TEST(SafetyGate, falls_back_within_the_ramp_time_and_returns)
{
  SafetyGate gate = made(bounds());
  gate.open(both(30.0, -10.0), true);
  const Eigen::VectorXd law = both(30.0, -10.0), safe = both(10.0, 5.0);
  for (int k = 1; k <= 50; ++k) {
    gate.fall_back(safe, PERIOD);
    const double w = 1.0 - k * PERIOD / 0.5;
    EXPECT_TRUE(gate.command().isApprox(w * law + (1.0 - w) * safe, 1e-12)) << k;
  }
  for (int k = 0; k <= 50; ++k) {
    gate.follow(law, safe, PERIOD);
  }
  EXPECT_TRUE(gate.command().isApprox(law, 1e-12));
}

TEST(SafetyGate, limits_torque_and_rate)
{
  SafetyGate gate = made(bounds());
  gate.open(both(0.0, 0.0), true);
  gate.follow(both(1e300, -1e300), both(0.0, 0.0), 0.001);
  EXPECT_TRUE(gate.command().isApprox(both(4.0, -1.0), 1e-12));
  // A pause counts as max_period, 0.02 s.
  gate.follow(both(1e300, -1e300), both(0.0, 0.0), 1e9);
  EXPECT_TRUE(gate.command().isApprox(both(80.0, -20.0), 1e-12));
}

TEST(SafetyGate, stays_where_time_does_not_advance)
{
  SafetyGate gate = made(bounds());
  gate.open(both(1.0, 2.0), true);
  for (const double period : {0.0, -1.0, NONE, -INF}) {
    gate.follow(both(9.0, 9.0), both(0.0, 0.0), period);
    EXPECT_EQ(gate.command(), both(1.0, 2.0)) << period;
  }
}

TEST(SafetyGate, a_command_that_is_not_finite_ends_at_the_safe_one)
{
  SafetyGate gate = made(bounds());
  gate.open(both(30.0, -10.0), true);
  const Eigen::VectorXd safe = both(10.0, 5.0);
  gate.follow(both(30.0, NONE), safe, PERIOD);
  EXPECT_TRUE(gate.failed());
  for (int k = 2; k <= 50; ++k) {
    EXPECT_FALSE(gate.ended()) << k;
    gate.follow(both(30.0, -10.0), safe, PERIOD);  // what comes afterwards does not count
  }
  EXPECT_TRUE(gate.ended());
  EXPECT_EQ(gate.command(), safe);
  gate.open(safe, false);
  EXPECT_FALSE(gate.failed());
}

TEST(Handover, the_difference_between_two_sources_fades)
{
  SafetyGate gate = made(bounds());
  gate.open(both(30.0, -10.0), true);
  Handover handover(2, 1.0);
  handover.clear(Source::predecessor);
  for (int k = 0; k <= 100; ++k) {
    Eigen::VectorXd command = both(10.0, 30.0);  // the second is beyond its limit, 20
    handover.blend(Source::law, command, gate, PERIOD);
    const double share = 1.0 - k * PERIOD;
    EXPECT_NEAR(command[0], 10.0 + share * 20.0, 1e-9);
    EXPECT_NEAR(command[1], 30.0 - share * 30.0, 1e-9);
  }
}

TEST(PositionCheck, flips_are_never_trusted_and_a_slip_is_after_a_while)
{
  PositionCheck flips, slips;
  double time = 0.0;
  for (int k = 0; k < 100; ++k, time += PERIOD) {
    const bool flipped = flips.take(k % 2 ? 0.5 : 0.0, time, 0.0, 3.0, 0.01);
    EXPECT_EQ(flipped, k == 0) << k;
    const bool slipped = slips.take(k < 20 ? 0.0 : 0.5, time, 0.0, 3.0, 0.01);
    EXPECT_EQ(slipped, k < 20 || k >= 30) << k;
  }
}

TEST(PositionCheck, what_the_reported_speed_explains_is_no_jump)
{
  PositionCheck check;
  EXPECT_TRUE(check.take(0.0, 0.0, 0.0, 3.0, 0.01));
  EXPECT_TRUE(check.take(0.06, PERIOD, 6.0, 3.0, 0.01));
  EXPECT_FALSE(check.take(0.2, 2 * PERIOD, NONE, 3.0, 0.01));
  PositionCheck unbounded;
  EXPECT_TRUE(unbounded.take(0.0, 0.0, NONE, INF, 0.01));
  EXPECT_TRUE(unbounded.take(100.0, PERIOD, NONE, INF, 0.01));
}

TEST(SafetyGate, whatever_comes_commands_are_finite_and_bounded)
{
  std::mt19937 random(3);
  std::uniform_real_distribution<double> share(0.0, 1.0);
  const auto value = [&](double size) {
      constexpr double BAD[] = {NONE, INF, -INF, 1e300, -1e300, 0.0};
      return share(random) < 0.2 ? BAD[random() % 6] : size * (2.0 * share(random) - 1.0);
    };
  for (int run = 0; run < 200; ++run) {
    SafetyGate gate = made(bounds());
    gate.open(both(value(200.0), value(200.0)), share(random) < 0.5);
    for (int k = 0; k < 200; ++k) {
      const Eigen::VectorXd before = gate.command();
      const double period = value(0.03);
      const Eigen::VectorXd safe = both(value(200.0), value(200.0));
      if (share(random) < 0.7) {
        gate.follow(both(100.0 * share(random), k > 150 ? value(40.0) : 0.0), safe, period);
      } else {
        gate.fall_back(safe, period);
      }
      const double T = period > 0.0 ? std::min(period, 0.02) : 0.0;
      ASSERT_TRUE(gate.command().allFinite());
      for (Eigen::Index j = 0; j < 2; ++j) {
        ASSERT_LE(std::abs(gate.command()[j]), bounds().limit[j]);
        ASSERT_LE(std::abs(gate.command()[j] - before[j]), bounds().rate[j] * T + 1e-9);
      }
    }
  }
}

}  // namespace
}  // namespace joint_dynamics_controllers
