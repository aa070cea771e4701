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

#include <gmock/gmock.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "controller_interface/chainable_controller_interface.hpp"
#include "controller_interface/controller_interface_params.hpp"
#include "lifecycle_msgs/msg/state.hpp"
#include "pluginlib/class_loader.hpp"
#include "rclcpp/rclcpp.hpp"

using controller_interface::ChainableControllerInterface;
using controller_interface::interface_configuration_type;
using controller_interface::return_type;
using lifecycle_msgs::msg::State;
using testing::ElementsAre;

constexpr char ROBOT[] =
  "<robot name='arm'><link name='base'/><link name='tip'><inertial><mass value='2'/>"
  "<origin xyz='0.2 0 0'/><inertia ixx='0.01' iyy='0.01' izz='0.01' ixy='0' ixz='0' iyz='0'/>"
  "</inertial></link><joint name='hinge' type='revolute'><parent link='base'/><child link='tip'/>"
  "<axis xyz='0 1 0'/><limit lower='-3' upper='3' effort='80' velocity='3'/></joint></robot>";

class FeedforwardControllerTest : public testing::Test
{
protected:
  static void SetUpTestSuite() { rclcpp::init(0, nullptr); }
  static void TearDownTestSuite() { rclcpp::shutdown(); }

  /// The controller with these parameters, initialised.
  return_type start(const std::vector<rclcpp::Parameter> & parameters)
  {
    controller_interface::ControllerInterfaceParams given;
    given.controller_name = "feedforward_controller";
    given.robot_description = ROBOT;
    given.update_rate = given.controller_manager_update_rate = 100;
    given.node_options = controller_->define_custom_node_options().parameter_overrides(parameters);
    return controller_->init(given);
  }

  /// As the manager activates it: with the interfaces that it asks for, which are kept.
  void activate()
  {
    std::vector<hardware_interface::LoanedCommandInterface> commands;
    std::vector<hardware_interface::LoanedStateInterface> states;
    commands_.clear();
    states_.clear();
    const auto describe = [](const std::string & name) {
      hardware_interface::InterfaceInfo info;
      info.name = name.substr(name.find('/') + 1);
      info.data_type = "double";
      info.initial_value = "0.0";
      return hardware_interface::InterfaceDescription(name.substr(0, name.find('/')), info);
    };
    for (const std::string & name : controller_->command_interface_configuration().names) {
      commands_.push_back(std::make_shared<hardware_interface::CommandInterface>(describe(name)));
      commands.emplace_back(commands_.back(), nullptr);
    }
    for (const std::string & name : controller_->state_interface_configuration().names) {
      states_.push_back(std::make_shared<hardware_interface::StateInterface>(describe(name)));
      states.emplace_back(states_.back());
    }
    controller_->assign_interfaces(std::move(commands), std::move(states));
    ASSERT_EQ(controller_->get_node()->activate().id(), State::PRIMARY_STATE_ACTIVE);
  }

  /// Makes steps of 10 ms; `desired` are written as by a preceding controller.
  return_type update(int steps, const std::vector<double> & desired = {})
  {
    return_type outcome = return_type::OK;
    for (int k = 0; k < steps; ++k) {
      time_ = time_ + rclcpp::Duration(0, 10000000);
      for (std::size_t i = 0; i < desired.size(); ++i) {
        (void)references_[i]->set_value(desired[i]);
      }
      outcome = controller_->update(time_, rclcpp::Duration(0, 10000000));
    }
    return outcome;
  }

  double command() const {return commands_[0]->get_optional().value();}

  std::vector<hardware_interface::CommandInterface::SharedPtr> commands_, references_;
  std::vector<hardware_interface::StateInterface::SharedPtr> states_;
  rclcpp::Time time_{1, 0, RCL_ROS_TIME};
  pluginlib::ClassLoader<ChainableControllerInterface> loader_{
    "controller_interface", "controller_interface::ChainableControllerInterface"};
  std::shared_ptr<ChainableControllerInterface> controller_ =
    loader_.createSharedInstance("joint_dynamics_controllers/FeedforwardController");
};

TEST_F(FeedforwardControllerTest, asks_for_one_command_of_every_joint)
{
  const std::vector<std::string> joints = {"b", "a"};
  ASSERT_EQ(start({rclcpp::Parameter("joints", joints)}), return_type::OK);
  EXPECT_TRUE(controller_->is_chainable());
  const auto commands = controller_->command_interface_configuration();
  EXPECT_EQ(commands.type, interface_configuration_type::INDIVIDUAL);
  EXPECT_THAT(commands.names, ElementsAre("b/effort", "a/effort"));
}

TEST_F(FeedforwardControllerTest, is_refused_without_joints)
{
  EXPECT_EQ(start({}), return_type::ERROR);
}

TEST_F(FeedforwardControllerTest, without_its_description_it_stays_unconfigured)
{
  const std::vector<std::string> joints = {"b", "a"};
  const rclcpp::Parameter file("description_file", "/nowhere/dynamics.yaml");
  ASSERT_EQ(start({rclcpp::Parameter("joints", joints), file}), return_type::OK);
  EXPECT_EQ(controller_->configure().id(), State::PRIMARY_STATE_UNCONFIGURED);
  const auto states = controller_->state_interface_configuration();
  EXPECT_THAT(states.names, ElementsAre("b/position", "a/position", "b/velocity", "a/velocity"));
}

TEST_F(FeedforwardControllerTest, refuses_parameters_that_would_be_ignored)
{
  const rclcpp::Parameter joints("joints", std::vector<std::string>{"hinge"}), no_file("use_description", false);
  const std::vector<rclcpp::Parameter> wrong = {
    rclcpp::Parameter("step_timeout", 0.1), rclcpp::Parameter("python", "python3"), rclcpp::Parameter("kp", 100.0),
    rclcpp::Parameter("kp.hing", 100.0), rclcpp::Parameter("kp.hinge", -1.0), rclcpp::Parameter("kp.hinge", "much"),
    rclcpp::Parameter("effort_limit.hinge", std::numeric_limits<double>::quiet_NaN()),
    rclcpp::Parameter("torque_gain.hinge", 0.3)};
  for (const rclcpp::Parameter & parameter : wrong) {
    controller_ = loader_.createSharedInstance("joint_dynamics_controllers/FeedforwardController");
    ASSERT_EQ(start({joints, no_file, parameter}), return_type::OK) << parameter;
    EXPECT_EQ(controller_->configure().id(), State::PRIMARY_STATE_UNCONFIGURED) << parameter;
  }
}

TEST_F(FeedforwardControllerTest, holds_gravity_until_a_motion_is_desired_and_when_a_state_is_bad)
{
  ASSERT_EQ(
    start(
      {rclcpp::Parameter("joints", std::vector<std::string>{"hinge"}), rclcpp::Parameter("use_description", false),
        rclcpp::Parameter("feedback", true), rclcpp::Parameter("kp.hinge", 100), rclcpp::Parameter("kd.hinge", 20.0)}),
    return_type::OK);
  ASSERT_EQ(controller_->configure().id(), State::PRIMARY_STATE_INACTIVE);
  references_ = controller_->export_reference_interfaces();
  ASSERT_EQ(references_.size(), 4u);
  activate();
  const double holds = -2.0 * 9.81 * 0.2;  // about +y, the mass at +x
  EXPECT_NEAR(command(), holds, 1e-9);
  EXPECT_EQ(update(100), return_type::OK);
  EXPECT_NEAR(command(), holds, 1e-9);
  // (0.01 + 2·0.2²) kg·m² times 3 rad/s², and the demand of the PID for 0.1 rad.
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(update(100, {0.1, 0.0, 3.0, nan}), return_type::OK);
  EXPECT_NEAR(command(), -2.0 * 9.81 * 0.2 * std::cos(0.1) + 0.09 * (3.0 + 100.0 * 0.1), 1e-9);
  EXPECT_EQ(update(1, {0.1, 0.0, 3.0, 2.0}), return_type::OK);
  EXPECT_NEAR(command(), -2.0 * 9.81 * 0.2 * std::cos(0.1) + 0.09 * (3.0 + 100.0 * 0.1) + 2.0, 1e-9);
  (void)states_[1]->set_value(nan);
  EXPECT_EQ(update(60, {0.1, 0.0, 3.0, nan}), return_type::OK);
  EXPECT_NEAR(command(), holds, 1e-9);
}

TEST_F(FeedforwardControllerTest, a_step_beside_its_end_touches_no_interface)
{
  // A manager that shuts down deactivates its controllers and takes their interfaces in one thread,
  // while its loop still calls them in another.
  ASSERT_EQ(
    start(
      {rclcpp::Parameter("joints", std::vector<std::string>{"hinge"}),
       rclcpp::Parameter("use_description", false)}),
    return_type::OK);
  ASSERT_EQ(controller_->configure().id(), State::PRIMARY_STATE_INACTIVE);
  controller_->export_reference_interfaces();
  std::atomic<bool> over{false};
  std::thread loop;
  for (int k = 0; k < 200; ++k) {
    activate();
    if (k == 0) {
      loop = std::thread([&] {
        while (!over) {
          controller_->update(controller_->get_node()->now(), rclcpp::Duration(0, 1000000));
        }
      });
    }
    EXPECT_EQ(controller_->get_node()->deactivate().id(), State::PRIMARY_STATE_INACTIVE);
    controller_->release_interfaces();
  }
  over = true;
  loop.join();
  EXPECT_EQ(
    controller_->update(controller_->get_node()->now(), rclcpp::Duration(0, 1000000)),
    return_type::OK);
}
