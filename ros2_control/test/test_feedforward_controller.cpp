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
// The controller as pluginlib and the controller manager meet it, before it is active: loaded, its
// interfaces, what it refuses.

#include <gmock/gmock.h>

#include <memory>
#include <string>
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
    given.robot_description = "<robot name='none'/>";
    given.update_rate = given.controller_manager_update_rate = 100;
    given.node_options = controller_->define_custom_node_options().parameter_overrides(parameters);
    return controller_->init(given);
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
