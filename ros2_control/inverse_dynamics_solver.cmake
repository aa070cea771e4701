# Copyright 2026 The joint_dynamics authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

# The identified arm as a plugin of the package `inverse_dynamics_solver`, where that is found.
find_package(inverse_dynamics_solver QUIET)
if(NOT inverse_dynamics_solver_FOUND)
  message(STATUS "inverse_dynamics_solver not found: its plugin is not built")
  return()
endif()
add_library(joint_dynamics_arm_solver SHARED src/arm_solver.cpp)
target_include_directories(joint_dynamics_arm_solver PRIVATE ${inverse_dynamics_solver_INCLUDE_DIRS})
target_link_libraries(joint_dynamics_arm_solver PRIVATE dynamics_model pluginlib::pluginlib rclcpp::rclcpp)
pluginlib_export_plugin_description_file(inverse_dynamics_solver inverse_dynamics_solver.xml)
install(TARGETS joint_dynamics_arm_solver LIBRARY DESTINATION lib)
