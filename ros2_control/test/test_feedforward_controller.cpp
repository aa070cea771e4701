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
// The controller as pluginlib and the controller manager meet it: loaded, its interfaces, what it
// refuses, and its end beside the manager's loop.

#include <gmock/gmock.h>

#include <atomic>
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

  /// As the manager activates it: with the interfaces that it asks for.
  void activate()
  {
    std::vector<hardware_interface::LoanedCommandInterface> commands;
    std::vector<hardware_interface::LoanedStateInterface> states;
    const auto describe = [](const std::string & name) {
      hardware_interface::InterfaceInfo info;
      info.name = name.substr(name.find('/') + 1);
      info.data_type = "double";
      info.initial_value = "0.0";
      return hardware_interface::InterfaceDescription(name.substr(0, name.find('/')), info);
    };
    for (const std::string & name : controller_->command_interface_configuration().names) {
      commands.emplace_back(
        std::make_shared<hardware_interface::CommandInterface>(describe(name)), nullptr);
    }
    for (const std::string & name : controller_->state_interface_configuration().names) {
      states.emplace_back(std::make_shared<hardware_interface::StateInterface>(describe(name)));
    }
    controller_->assign_interfaces(std::move(commands), std::move(states));
    ASSERT_EQ(controller_->get_node()->activate().id(), State::PRIMARY_STATE_ACTIVE);
  }

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

TEST_F(FeedforwardControllerTest, a_step_beside_its_end_touches_no_interface)
{
  // A manager that shuts down deactivates its controllers and takes their interfaces in one thread,
  // while its loop still calls them in another.
  ASSERT_EQ(
    start(
      {rclcpp::Parameter("joints", std::vector<std::string>{"hinge"}),
       rclcpp::Parameter("use_description", false), rclcpp::Parameter("late_timeout", 1.0)}),
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
