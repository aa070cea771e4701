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

#include <cmath>
#include <random>

#include <Eigen/Eigenvalues>

#include "../allocations.hpp"
#include "arm_in_text.hpp"
#include "dynamics_model/arm.hpp"

namespace joint_dynamics
{
namespace
{

const double NaN = std::nan("");
const Scale UNKNOWN = Scale::Constant(2, 2, NaN);
const Eigen::Vector2d COLD = Eigen::Vector2d::Constant(NaN);

ArmOptions hysteresis()
{
  ArmOptions options;
  options.friction = FrictionMode::hysteresis;
  return options;
}

Arm arm_of(const ArmOptions & options = hysteresis())
{
  return Arm(test::URDF, test::DESCRIPTION, {}, options);
}

std::string changed(const std::string & from, const std::string & to)
{
  std::string text = test::DESCRIPTION;
  return text.replace(text.find(from), from.size(), to);
}

void expect_refused(const std::string & description, const std::string & path)
{
  try {
    const Arm arm(test::URDF, description, {});
    ADD_FAILURE() << "accepted: " << path;
  } catch (const std::runtime_error & error) {
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
  }
}

TEST(Arm, gravity_is_that_of_the_written_out_lever)
{
  const Arm arm = arm_of();
  Eigen::VectorXd tau(2);
  const double q = 0.4, s = 0.05;
  arm.gravity(Eigen::Vector2d(q, s), tau);
  // the slide's frame is turned by π/2 about y: its z points along the upper arm, its x down
  const double along = 4 * 0.3 + 2 * (0.5 + s), below = 2 * 0.1;
  EXPECT_NEAR(tau[0], -9.81 * (along * std::cos(q) - below * std::sin(q)), 1e-12);
  EXPECT_NEAR(tau[1], -9.81 * 2 * std::sin(q), 1e-12);
}

TEST(Arm, inertia_is_symmetric_positive_and_gives_the_torque)
{
  const Arm arm = arm_of();
  std::mt19937 random(63);
  std::uniform_real_distribution<double> draw(-2.0, 2.0);
  Eigen::MatrixXd M(2, 2);
  Eigen::VectorXd with(2), without(2), expected(2);
  for (int i = 0; i < 100; ++i) {
    const Eigen::Vector2d q(draw(random), 0.1 * draw(random)), dq(draw(random), draw(random));
    const Eigen::Vector2d a(draw(random), draw(random));
    arm.inertia(q, M);
    EXPECT_NEAR(M(0, 1), M(1, 0), 1e-12);
    EXPECT_GT(Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(M).eigenvalues().minCoeff(), 0.0);
    arm.link_torque(q, dq, a, with);
    arm.link_torque(q, dq, Eigen::Vector2d::Zero(), without);
    arm.inertia_torque(q, a, expected);
    expected[0] -= 0.5 * a[0];  // the rotor is no link
    EXPECT_LE((with - without - expected).cwiseAbs().maxCoeff(), 1e-12);
  }
}

TEST(Arm, kinetic_energy_grows_by_the_work_of_the_links)
{
  const Arm arm = arm_of();
  const double h = 1e-5;  // s; the difference quotient errs by h²
  const auto energy = [&arm](double t) {
      const Eigen::Vector2d q(std::sin(t), 0.1 * std::cos(2 * t)), dq(std::cos(t), -0.2 * std::sin(2 * t));
      Eigen::VectorXd p(2);
      arm.inertia_torque(q, dq, p);
      return 0.5 * dq.dot(p) - 0.25 * dq[0] * dq[0];  // less the rotor's
    };
  for (double t = 0.0; t < 6.0; t += 0.1) {
    const Eigen::Vector2d q(std::sin(t), 0.1 * std::cos(2 * t)), dq(std::cos(t), -0.2 * std::sin(2 * t));
    const Eigen::Vector2d ddq(-std::sin(t), -0.4 * std::cos(2 * t));
    Eigen::VectorXd tau(2), g(2);
    arm.link_torque(q, dq, ddq, tau);
    arm.gravity(q, g);
    EXPECT_NEAR((energy(t + h) - energy(t - h)) / (2 * h), dq.dot(tau - g), 1e-7);
  }
}

TEST(Arm, friction_takes_energy_out_of_every_closed_path)
{
  ArmOptions options = hysteresis();
  options.gravity = false;
  const Arm arm(test::URDF, changed("quadrants: {a_m: 1.1, b_m: 0.05, a_g: 0.95, b_g: 0.02, c_m: 3.0, d_m: 1.0, "
    "c_g: 3.0, d_g: 1.0, F_V: 4.0, dq_s: 0.05},\n", ""), {}, options);
  ArmState state = arm.begin();
  const double step = 1e-5;  // rad, from sample to sample
  double work = 0.0, largest = 0.0;
  const Eigen::Vector2d still = Eigen::Vector2d::Zero();
  Eigen::VectorXd tau(2), before(2);
  std::mt19937 random(64);
  std::uniform_int_distribution<int> steps(1, 400);
  int place = 0;
  for (int leg = 0, direction = 1; leg < 60; ++leg, direction = -direction) {
    // the last leg ends where the first began
    const int count = leg == 59 ? std::abs(place) : steps(random);
    direction = leg == 59 ? (place > 0 ? -1 : 1) : direction;
    for (int k = 0; k < count; ++k) {
      place += direction;
      arm.motor_torque(state, Eigen::Vector2d(0.0, step * place), still, still, tau);
      work += 0.5 * (tau[1] + before[1]) * step * direction;
      before = tau;
      largest = std::max(largest, work);
    }
  }
  EXPECT_GT(work, 0.1 * largest);
  EXPECT_GE(largest, work);
}

TEST(Arm, steady_slip_has_a_hysteresis_of_one)
{
  const Arm arm = arm_of();
  ArmState state = arm.begin();
  Eigen::VectorXd tau(2);
  for (int k = 0; k < 200; ++k) {
    const Eigen::Vector2d q(0.001 * k, -0.0001 * k), dq(1.0, -0.1);
    arm.motor_torque(state, q, dq, Eigen::Vector2d::Zero(), tau);
  }
  EXPECT_DOUBLE_EQ(state.H[0], 1.0);
  EXPECT_DOUBLE_EQ(state.H[1], -1.0);
}

TEST(Arm, nothing_allocates_after_construction)
{
  for (const FrictionMode mode : {FrictionMode::none, FrictionMode::static_map, FrictionMode::hysteresis}) {
    ArmOptions options;
    options.friction = mode;
    options.gravity = false;
    const Arm arm = arm_of(options);
    ArmState state = arm.begin();
    const Eigen::VectorXd q = Eigen::Vector2d(0.1, 0.05), dq = Eigen::Vector2d(0.3, -0.2);
    const Eigen::VectorXd ddq = Eigen::Vector2d(1.0, 2.0), warm = Eigen::Vector2d(33.0, NaN);
    Eigen::VectorXd tau(2);
    Eigen::MatrixXd M(2, 2);
    const std::size_t before = allocations;
    arm.reset(state);
    arm.adapt(state, warm, UNKNOWN);
    arm.motor_torque(state, q, dq, ddq, tau);
    arm.link_torque(q, dq, ddq, tau);
    arm.gravity(q, tau);
    arm.inertia_torque(q, ddq, tau);
    arm.inertia(q, M);
    arm.friction_torque(q, dq, ddq, warm, tau);
    EXPECT_EQ(allocations, before);
  }
}

TEST(Arm, alpha_and_temperature_are_clipped_and_nan_keeps_the_last)
{
  const Arm arm = arm_of();
  ArmState state = arm.begin();
  EXPECT_DOUBLE_EQ(state.alpha(0, 0), 2.5);  // 9 described
  EXPECT_DOUBLE_EQ(state.temperature[0], 30.0);
  Scale alpha = UNKNOWN;
  alpha(0, 0) = 1.3;
  alpha(1, 1) = -100.0;
  arm.adapt(state, Eigen::Vector2d(200.0, NaN), alpha);
  EXPECT_DOUBLE_EQ(state.alpha(0, 0), 1.3);
  EXPECT_DOUBLE_EQ(state.alpha(1, 0), 1.0);
  EXPECT_DOUBLE_EQ(state.alpha(1, 1), -5.0);  // half the viscous friction at 1 m/s
  EXPECT_DOUBLE_EQ(state.temperature[0], 80.0);
  arm.adapt(state, COLD, UNKNOWN);
  EXPECT_DOUBLE_EQ(state.alpha(0, 0), 1.3);
  EXPECT_DOUBLE_EQ(state.temperature[0], 80.0);
}

TEST(Arm, joints_may_come_in_any_order)
{
  const Arm forward = arm_of(), backward(test::URDF, test::DESCRIPTION, {"slide", "shoulder"}, hysteresis());
  ArmState first = forward.begin(), second = backward.begin();
  Eigen::VectorXd tau(2), turned(2);
  const Eigen::Vector2d q(0.3, 0.1), dq(1.0, -0.5), ddq(2.0, 3.0);
  forward.motor_torque(first, q, dq, ddq, tau);
  backward.motor_torque(second, q.reverse().eval(), dq.reverse().eval(), ddq.reverse().eval(), turned);
  EXPECT_EQ(turned, tau.reverse().eval());
  EXPECT_EQ(backward.limits().effort, Eigen::Vector2d(80.0, 150.0));
}

TEST(Arm, a_current_needs_the_gain_of_every_drive)
{
  ArmOptions options;
  options.current = true;
  const std::string driven = changed("slide: {", "slide: {drive_gain: {value: 4.0}, ");
  EXPECT_EQ(Arm(test::URDF, driven, {}, options).command_scale(), Eigen::Vector2d(0.125, 0.25));
  EXPECT_THROW(arm_of(options), std::runtime_error);
}

TEST(Arm, a_urdf_alone_is_an_arm_without_friction)
{
  const Arm arm(test::URDF, "", {});
  ArmState state = arm.begin();
  Eigen::VectorXd tau(2), links(2);
  const Eigen::Vector2d q(0.3, 0.1), dq(1.0, -0.5), ddq(2.0, 3.0);
  arm.motor_torque(state, q, dq, ddq, tau);
  arm.link_torque(q, dq, ddq, links);
  EXPECT_EQ(tau, links);
  EXPECT_THROW(Arm(test::URDF, "", {}, hysteresis()), std::runtime_error);
}

TEST(Arm, torques_recorded_without_gravity_leave_it_out)
{
  const std::string link = "{XX: 0, XY: 0, XZ: 0, YY: 2, YZ: 0, ZZ: 2, MX: 1, MY: 0, MZ: 0, M: 4}";
  const auto with = [&link](const std::string & gravity) {
      const std::string both = "{shoulder: " + link + ", slide: " + link + "}";
      return changed("joints: {", "inertial: {" + gravity + "standard: " + both + "}, joints: {");
    };
  const Eigen::Vector2d q(0.3, 0.1), dq(1.0, -0.5), ddq(2.0, 3.0);
  Eigen::VectorXd full(2), weightless(2), gravity(2);
  const Arm heavy(test::URDF, with(""), {}), light(test::URDF, with("gravity: none, "), {});
  heavy.gravity(q, gravity);
  heavy.link_torque(q, dq, ddq, full);
  light.link_torque(q, dq, ddq, weightless);
  EXPECT_GT(gravity.cwiseAbs().minCoeff(), 1.0);
  EXPECT_LE((full - gravity - weightless).cwiseAbs().maxCoeff(), 1e-12);
  light.gravity(q, gravity);
  EXPECT_EQ(gravity, Eigen::Vector2d(0.0, 0.0));
  expect_refused(with("gravity: moon, "), "inertial.gravity");
}

TEST(Arm, refusals_name_the_field)
{
  expect_refused(changed("version: 2", "version: 3"), "version");
  expect_refused(changed("version: 2", "version: 2, version: 2"), "version");
  expect_refused(changed("F_C0: 5.0", "F_C0: 5.0, F_C9: 1.0"), "joints.shoulder.friction.parameters.F_C9");
  expect_refused(changed("F_C0: 5.0", "F_C0: .nan"), "joints.shoulder.friction.parameters.F_C0");
  expect_refused(changed("F_C0: 5.0", "F_C0: 0777"), "joints.shoulder.friction.parameters.F_C0");
  expect_refused(changed("joint_names: [shoulder, slide]", "joint_names: [shoulder, slide, wrist]"), "joints.wrist");
  expect_refused(changed("value: 0.5", "value: -0.5"), "joints.shoulder.rotor_inertia");
  expect_refused(changed("slide: {", "slide: {terms: [{document: {function: sin(q)}, values: [1.0]}], "), "function");
  expect_refused(changed("1.0e+9]", "-1.0e+12]"), "joints.shoulder.stiffness");
  expect_refused(changed("1.0e+9]", "1.0e+9, 1.0e+15]"), "joints.shoulder.stiffness.coefficients");
  expect_refused(
    changed("maxwell_slip: {presliding: 0.0005}", "maxwell_slip: {presliding: 0.0}"),
    "joints.slide.friction.maxwell_slip.presliding");
}

TEST(Arm, refuses_robots_that_are_none)
{
  EXPECT_THROW(Arm("<robot", "", {}), std::runtime_error);
  EXPECT_THROW(Arm(test::URDF, "", {"elbow"}), std::runtime_error);
  EXPECT_THROW(Arm(test::URDF, "", {"slide", "slide"}), std::runtime_error);
  EXPECT_THROW(Arm("", test::DESCRIPTION, {}), std::runtime_error);
  ArmOptions options;
  options.mounting = {1.0, 0.0};
  EXPECT_THROW(Arm(test::URDF, "", {}, options), std::runtime_error);
  options = {};
  options.payload_mass = NaN;
  EXPECT_THROW(Arm(test::URDF, "", {}, options), std::runtime_error);
}

}  // namespace
}  // namespace joint_dynamics
