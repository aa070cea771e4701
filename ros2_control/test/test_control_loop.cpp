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

#include <cstdlib>
#include <functional>
#include <random>
#include <stdexcept>
#include <vector>

#include "allocations.hpp"
#include "arm_of_tests.hpp"
#include "joint_dynamics_controllers/compensation_check.hpp"

namespace joint_dynamics_controllers
{
namespace
{

constexpr double NONE = std::numeric_limits<double>::quiet_NaN();
constexpr double INF = std::numeric_limits<double>::infinity();
constexpr double PERIOD = 0.002;
const Eigen::VectorXd HOME = both(0.3, -0.5);

ControlLoop loop_of(
  const TorqueLaw::Settings & law, const ControlLoop::Settings & settings = loop_settings(),
  const joint_dynamics::ArmOptions & options = {})
{
  return ControlLoop(TorqueLaw(arm_of_tests(options), law), settings);
}

Eigen::VectorXd gravity(const joint_dynamics::Arm & arm, const Eigen::VectorXd & q)
{
  Eigen::VectorXd torque(q.size());
  arm.gravity(q, torque);
  return torque;
}

/// A loop that follows its law at rest at HOME, and its clock.
struct Running
{
  explicit Running(ControlLoop made)
  : loop(std::move(made)), still(HOME)
  {
    loop.activate(still.measured, both(NONE, NONE));
    run(300);
  }

  Outcome run(int steps, bool desires_motion = true)
  {
    Outcome outcome = Outcome::safe;
    for (int k = 0; k < steps; ++k) {
      time += PERIOD;
      motion_time = desires_motion ? time : motion_time;
      loop.set_desired_time(motion_time, effort_time);
      outcome = loop.step(still.measured, still.desired, time, PERIOD);
    }
    return outcome;
  }

  ControlLoop loop;
  Still still;
  double time = 0.0, motion_time = NONE, effort_time = NONE;
};

TEST(ControlLoop, every_fault_is_named_and_ends_at_gravity)
{
  const std::vector<std::pair<Fault::Kind, std::function<void(Running &)>>> faults = {
    {Fault::measured_position, [](Running & r) {r.still.measured.position[1] = NONE;}},
    {Fault::measured_velocity, [](Running & r) {r.still.measured.velocity[1] = INF;}},
    {Fault::jump, [](Running & r) {r.still.measured.position[1] += 0.3;}},
    {Fault::reference_position, [](Running & r) {r.still.desired.position[1] = NONE;}},
    {Fault::reference_velocity, [](Running & r) {r.still.desired.velocity[1] = -INF;}},
    {Fault::reference_acceleration, [](Running & r) {r.still.desired.acceleration[1] = NONE;}},
    {Fault::position_limit, [](Running & r) {r.still.desired.position[1] = 2.6;}},
    {Fault::tracking, [](Running & r) {r.still.desired.position[1] += 0.6;}},
    {Fault::desired_speed, [](Running & r) {r.still.desired.velocity[1] = -4.9;}},
    {Fault::measured_speed, [](Running & r) {r.still.measured.velocity[1] = 4.9;}},
  };
  for (const auto & [kind, spoil] : faults) {
    Running running(loop_of(law_settings(true)));
    ASSERT_EQ(running.run(1), Outcome::law);
    spoil(running);
    EXPECT_EQ(running.run(1), Outcome::safe) << kind;
    EXPECT_EQ(running.loop.fault().kind, kind);
    EXPECT_EQ(running.loop.fault().joint, 1) << kind;
    EXPECT_NE(running.loop.reason(running.loop.fault()).find("elbow"), std::string::npos) << kind;
    if (kind == Fault::jump) {
      continue;  // trusted again after 0.1 s
    }
    running.run(260);
    EXPECT_TRUE(running.loop.command().isApprox(gravity(running.loop.arm(), HOME), 1e-9)) << kind;
    // When it is over, the law returns within the ramp time.
    running.still = Still(HOME);
    EXPECT_EQ(running.run(1), Outcome::law) << kind;
  }
}

TEST(ControlLoop, a_motion_that_ends_or_never_comes_is_a_fault)
{
  ControlLoop loop = loop_of(law_settings(false));
  Still still(HOME);
  loop.activate(still.measured, both(NONE, NONE));
  EXPECT_EQ(loop.step(still.measured, still.desired, 0.0, PERIOD), Outcome::safe);
  EXPECT_EQ(loop.fault().kind, Fault::reference_missing);
  Running running(loop_of(law_settings(false)));
  // It counts for timeout, 0.05 s.
  EXPECT_EQ(running.run(24, false), Outcome::law);
  EXPECT_EQ(running.run(2, false), Outcome::safe);
  EXPECT_EQ(running.loop.fault().kind, Fault::reference_old);
  running.motion_time = running.time + 1.0;
  EXPECT_EQ(running.run(1, false), Outcome::safe);
  EXPECT_LT(running.loop.fault().value, 0.0);
}

TEST(ControlLoop, time_that_does_not_advance_is_a_fault_unless_it_is_the_same_moment)
{
  Running running(loop_of(law_settings(false)));
  const Eigen::VectorXd command = running.loop.command();
  const auto step = [&](double time, double period) {
      return running.loop.step(running.still.measured, running.still.desired, time, period);
    };
  EXPECT_EQ(step(running.time, 0.0), Outcome::law);
  EXPECT_EQ(running.loop.command(), command);
  for (const double period : {0.0, -PERIOD, NONE}) {
    EXPECT_EQ(step(running.time - 1.0, period), Outcome::safe) << period;
    EXPECT_EQ(running.loop.fault().kind, Fault::no_time) << period;
    EXPECT_EQ(running.loop.command(), command) << period;
  }
}

TEST(ControlLoop, a_loop_that_is_later_than_its_gains_bear_is_a_fault)
{
  Running running(loop_of(law_settings(true)));
  const double margin = TorqueLaw(arm_of_tests(), law_settings(true)).delay_margin().minCoeff();
  // On average a torque is half a period old.
  for (int k = 0; k < 500; ++k) {
    running.time += 3.0 * margin;
    running.loop.set_desired_time(running.time, NONE);
    running.loop.step(running.still.measured, running.still.desired, running.time, 3.0 * margin);
  }
  EXPECT_EQ(running.loop.fault().kind, Fault::delay);
  EXPECT_DOUBLE_EQ(running.loop.fault().high, margin);
}

TEST(ControlLoop, it_takes_over_from_the_effort_on_the_joints)
{
  const Eigen::VectorXd holds = gravity(arm_of_tests(), HOME);
  const Eigen::VectorXd held = holds + both(3.0, -1.0);  // within friction at rest: 7 and 2 N·m
  for (const bool is_measured : {true, false}) {
    ControlLoop loop = loop_of(law_settings(false));
    Still still(HOME);
    still.measured.effort = is_measured ? held : both(NONE, NONE);
    loop.activate(still.measured, is_measured ? both(NONE, NONE) : held);
    EXPECT_TRUE(loop.command().isApprox(held, 1e-12));
    for (int k = 0; k < 1100; ++k) {
      const double time = k * PERIOD, share = std::max(1.0 - time / 2.0, 0.0);
      loop.set_desired_time(time, NONE);
      ASSERT_EQ(loop.step(still.measured, still.desired, time, PERIOD), Outcome::law);
      EXPECT_TRUE(loop.command().isApprox(holds + share * (held - holds), 1e-9)) << k;
    }
  }
}

TEST(ControlLoop, what_does_not_hold_the_arm_is_not_taken_over)
{
  const Eigen::VectorXd holds = gravity(arm_of_tests(), HOME);
  for (const Eigen::VectorXd & left : {both(0.0, 0.0), both(NONE, 1.0), (holds + both(0.0, 2.5)).eval()}) {
    ControlLoop loop = loop_of(law_settings(false));
    Still still(HOME);
    still.measured.effort = both(0.0, 0.0);  // of a driver that measures none
    loop.activate(still.measured, left);
    EXPECT_TRUE(loop.command().isApprox(holds, 1e-12));
  }
  ControlLoop loop = loop_of(law_settings(false));
  loop.activate(Measured(2), both(NONE, NONE));
  EXPECT_TRUE(loop.command().isZero(0.0));
}

TEST(ControlLoop, a_robot_that_adds_gravity_gets_none)
{
  joint_dynamics::ArmOptions options;
  options.gravity = false;
  auto settings = loop_settings();
  settings.holds_gravity = false;
  ControlLoop loop = loop_of(law_settings(false), settings, options);
  Still still(HOME);
  still.measured.effort = gravity(loop.arm(), HOME) + both(1.0, 1.0);
  loop.activate(still.measured, both(NONE, NONE));
  EXPECT_TRUE(loop.command().isApprox(both(1.0, 1.0), 1e-9));
  for (int k = 0; k < 1100; ++k) {
    loop.set_desired_time(k * PERIOD, NONE);
    loop.step(still.measured, still.desired, k * PERIOD, PERIOD);
  }
  EXPECT_TRUE(loop.command().isZero(1e-9));
}

TEST(ControlLoop, an_effort_alone_passes_while_the_law_fades)
{
  Running running(loop_of(law_settings(true)));
  const Eigen::VectorXd law = running.loop.command();
  running.still.desired.effort = both(4.0, -2.0);
  for (int k = 0; k < 1200; ++k) {
    running.effort_time = running.time + PERIOD;
    ASSERT_EQ(running.run(1, false), Outcome::law) << k;
  }
  EXPECT_TRUE(running.loop.command().isApprox(both(4.0, -2.0), 1e-9));
  // Not without a plausible state.
  running.still.measured.velocity[0] = 3.7;
  running.effort_time = running.time + PERIOD;
  EXPECT_EQ(running.run(1, false), Outcome::safe);
  // With a motion it is added to the law; the torque of the law comes back without a step.
  running.still.measured.velocity[0] = 0.0;
  for (int k = 0; k < 1200; ++k) {
    const Eigen::VectorXd before = running.loop.command();
    running.effort_time = running.time + PERIOD;
    running.run(1);
    EXPECT_LT((running.loop.command() - before).cwiseAbs().maxCoeff(), 0.1);
  }
  EXPECT_TRUE(running.loop.command().isApprox(law + both(4.0, -2.0), 1e-6));
}

TEST(ControlLoop, a_law_that_fails_ends_at_gravity_for_good)
{
  Running running(loop_of(law_settings(false)));
  running.still.desired.acceleration[1] = 1e308;  // finite, but not its torque
  running.still.desired.acceleration[0] = 1e308;
  EXPECT_EQ(running.run(1), Outcome::failed);
  EXPECT_EQ(running.loop.fault().kind, Fault::not_finite);
  running.still = Still(HOME);
  EXPECT_EQ(running.run(248), Outcome::failed);
  EXPECT_EQ(running.run(2), Outcome::ended);
  EXPECT_TRUE(running.loop.command().isApprox(gravity(running.loop.arm(), HOME), 1e-9));
  running.loop.activate(running.still.measured, both(NONE, NONE));
  EXPECT_EQ(running.run(1), Outcome::law);
}

TEST(ControlLoop, the_pid_is_scaled_by_the_inertia)
{
  TorqueLaw with(arm_of_tests(), law_settings(true)), without(arm_of_tests(), law_settings(false));
  Still still(HOME);
  still.measured.position += both(0.01, -0.02);
  still.measured.velocity = both(-0.1, 0.05);
  with.update(still.measured, still.desired, PERIOD);
  without.update(still.measured, still.desired, PERIOD);
  Eigen::MatrixXd inertia(2, 2);
  with.arm().inertia(HOME, inertia);
  const Eigen::VectorXd error = both(0.01, -0.02), rate = both(-0.1, 0.05);
  const Eigen::VectorXd expected = inertia * (-20.0 * rate - 100.0 * error - 50.0 * PERIOD * error);
  EXPECT_TRUE((with.torque() - without.torque()).isApprox(expected, 1e-9));
}

TEST(ControlLoop, the_torque_loop_is_bounded_and_needs_its_sensor)
{
  auto law = law_settings(false);
  law.torque_gain = both(0.5, 0.5);
  law.torque_limit = both(2.0, 2.0);
  Running running(loop_of(law));
  EXPECT_EQ(running.run(1), Outcome::safe);
  EXPECT_EQ(running.loop.fault().kind, Fault::measured_torque);
  const Eigen::VectorXd holds = gravity(running.loop.arm(), HOME);
  running.still.measured.torque = holds - both(1.0, 100.0);
  EXPECT_EQ(running.run(300), Outcome::law);
  EXPECT_TRUE(running.loop.command().isApprox(holds + both(0.5, 2.0), 1e-9));
}

TEST(ControlLoop, alpha_of_the_estimator_counts_within_its_bounds)
{
  joint_dynamics::ArmOptions options;
  options.friction = joint_dynamics::FrictionMode::static_map;
  const auto torque = [&](bool adapts, double alpha) {
      auto settings = law_settings(false);
      settings.adapts = adapts;
      TorqueLaw law(arm_of_tests(options), settings);
      Still still(HOME);
      still.desired.velocity = both(1.0, 1.0);
      still.measured.alpha << alpha, 0.0, alpha, 0.0;
      law.update(still.measured, still.desired, PERIOD);
      return law.torque()[0];
    };
  Eigen::VectorXd load(2);
  arm_of_tests().link_torque(HOME, both(1.0, 1.0), both(0.0, 0.0), load);
  const double dry = 7.0 + 0.001 * load[0] * load[0];  // F_C0 + F_C1 τ_J² of the shoulder
  EXPECT_NEAR(torque(true, 1.5) - torque(true, 0.5), dry, 1e-9);
  EXPECT_EQ(torque(false, 1.5), torque(false, 0.5));
  EXPECT_EQ(torque(true, INF), torque(true, 2.5));
  EXPECT_EQ(torque(true, NONE), torque(true, 1.0));
}

TEST(ControlLoop, unstable_gains_are_refused_by_joint)
{
  for (const auto & [kp, kd, ki] : {std::array{0.0, 20.0, 0.0}, {100.0, 0.0, 0.0}, {100.0, 1.0, 100.0}, {NONE, 1.0, 0.0}}) {
    auto law = law_settings(true);
    law.kp[1] = kp, law.kd[1] = kd, law.ki[1] = ki;
    try {
      TorqueLaw made(arm_of_tests(), law);
      FAIL() << kp << " " << kd << " " << ki;
    } catch (const std::runtime_error & error) {
      EXPECT_NE(std::string(error.what()).find("elbow"), std::string::npos);
    }
  }
}

TEST(ControlLoop, the_delay_margin_is_that_of_a_double_integrator)
{
  auto law = law_settings(true);
  law.ki = both(0.0, 0.0);
  const double kp = 100.0, kd = 20.0;
  // (kp + kd s)/s²: ω² = (kd² + √(kd⁴ + 4 kp²))/2, phase margin atan(kd ω/kp).
  const double omega = std::sqrt(0.5 * (kd * kd + std::sqrt(std::pow(kd, 4) + 4.0 * kp * kp)));
  EXPECT_NEAR(TorqueLaw(arm_of_tests(), law).delay_margin()[0], std::atan2(kd * omega, kp) / omega, 1e-9);
  law.feedback = false;
  EXPECT_EQ(TorqueLaw(arm_of_tests(), law).delay_margin()[0], INF);
}

TEST(CompensationCheck, more_friction_than_there_is_runs_away)
{
  const joint_dynamics::Arm arm = arm_of_tests();
  EXPECT_NO_THROW(refuse_run_away(arm, joint_dynamics::Field::parse(DESCRIPTION), both(1.0, 1.0)));
  EXPECT_THROW(refuse_run_away(arm, joint_dynamics::Field::parse(DESCRIPTION), both(1.0, 1.1)), std::runtime_error);
  // One direction of the elbow has less friction than both together.
  const std::string text = DESCRIPTION;
  const auto with = [&](double level, double deviation) {
      std::string changed = text;
      const std::string place = "parameters: {F_C0: 2.0";
      const std::string own = std::to_string(level) + ", F_V1: 2.0, F_C_std: " + std::to_string(deviation);
      changed.insert(
        changed.find(place),
        "directions: {positive: {F_C: " + own + ", F_V1_std: 0.0}, negative: {F_C: 2.0, F_V1: 2.0}}\n      ");
      return changed;
    };
  EXPECT_THROW(refuse_run_away(arm, joint_dynamics::Field::parse(with(1.5, 0.1)), both(1.0, 1.0)), std::runtime_error);
  EXPECT_NO_THROW(refuse_run_away(arm, joint_dynamics::Field::parse(with(1.5, 0.3)), both(1.0, 1.0)));
  EXPECT_NO_THROW(refuse_run_away(arm, joint_dynamics::Field::parse(with(1.5, 0.1)), both(1.0, 0.8)));
}

/// Three minutes of states, references, α, temperatures and periods that are often bad.
TEST(ControlLoop, a_storm_gets_no_bad_command_through)
{
  constexpr int STEPS = 90000;
  std::mt19937 random(5);
  std::uniform_real_distribution<double> share(0.0, 1.0);
  joint_dynamics::ArmOptions options;
  options.friction = joint_dynamics::FrictionMode::hysteresis;
  auto law = law_settings(true);
  law.adapts = true;
  law.torque_gain = both(0.3, 0.0);
  law.torque_limit = both(10.0, 10.0);
  ControlLoop loop = loop_of(law, loop_settings(), options);
  Still still(HOME);
  loop.activate(still.measured, both(NONE, NONE));
  const Eigen::VectorXd limit = both(80.0, 20.0);
  const auto spoil = [&](double value) {
      const double bad[] = {NONE, INF, -INF, 1e300, -1e9, 1e3, -0.7, value};
      return bad[random() % 8];
    };
  double clock = 0.0, motion_time = NONE, effort_time = NONE;
  int followed = 0;
  const std::size_t before = allocations;
  for (int k = 0; k < STEPS; ++k) {
    const double phase = 2.0 * M_PI * k * PERIOD;
    still.desired.position = HOME.array() + 0.3 * (1.0 - std::cos(phase));
    still.desired.velocity.setConstant(0.3 * 2.0 * M_PI * std::sin(phase));
    still.desired.acceleration.setConstant(0.3 * 4.0 * M_PI * M_PI * std::cos(phase));
    still.measured.position = still.desired.position.array() + 1e-4 * (share(random) - 0.5);
    still.measured.velocity = still.desired.velocity;
    still.measured.torque.setZero();
    still.desired.effort.setConstant(NONE);
    still.measured.temperature.setConstant(20.0 + 30.0 * share(random));
    still.measured.alpha.setConstant(2.0 * share(random));
    double period = PERIOD;
    clock += PERIOD;
    bool fresh = true;
    double time = clock;
    if (k / 25 % 5 == 0) {  // a fifth of the time is bad, in bursts of 50 ms
      Eigen::VectorXd * const inputs[] = {
        &still.measured.position, &still.measured.velocity, &still.measured.torque, &still.measured.temperature,
        &still.desired.position, &still.desired.velocity, &still.desired.acceleration, &still.desired.effort};
      for (Eigen::VectorXd * values : inputs) {
        for (double & value : *values) {
          value = share(random) < 0.03 ? spoil(value) : value;
        }
      }
      still.measured.alpha(0, random() % 2) = spoil(1.0);
      if (share(random) < 0.05) {
        const double odd[] = {0.0, -1e-3, NONE, 1e9, INF, 0.05, 1e-9};
        period = odd[random() % 7];
      }
      fresh = share(random) < 0.9;
      time = share(random) < 0.02 ? clock - 3.0 : clock;  // time that runs backward
    }
    motion_time = fresh ? time : motion_time;
    effort_time = share(random) < 0.5 ? time : effort_time;
    loop.set_desired_time(motion_time, effort_time);
    const Eigen::Vector2d last = loop.command();
    followed += loop.step(still.measured, still.desired, time, period) == Outcome::law;
    const double T = period > 0.0 ? std::min(period, 0.02) : 0.0;
    for (Eigen::Index j = 0; j < 2; ++j) {
      ASSERT_TRUE(std::isfinite(loop.command()[j])) << k;
      ASSERT_LE(std::abs(loop.command()[j]), limit[j]) << k;
      ASSERT_LE(std::abs(loop.command()[j] - last[j]), 50.0 * limit[j] * T + 1e-9) << k;
    }
  }
  EXPECT_EQ(allocations - before, 0u);
  // A hard time, and yet the law was followed for much of it.
  EXPECT_GT(followed, STEPS / 3);
  EXPECT_LT(followed, STEPS * 19 / 20);
}

}  // namespace
}  // namespace joint_dynamics_controllers
