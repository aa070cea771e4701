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

# Law, gate and loop of the controller without ROS, and their tests: included by CMakeLists.txt, with or without ament.
add_library(control_loop STATIC
  src/compensation_check.cpp
  src/control_loop.cpp
  src/safety_gate.cpp
  src/torque_law.cpp
)
target_compile_options(control_loop PRIVATE -Wconversion -Werror)
# part of the controllers' shared library
set_target_properties(control_loop PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_link_libraries(control_loop PUBLIC dynamics_model)

if(BUILD_TESTING)
  foreach(name IN ITEMS test_control_loop test_safety_gate)
    add_executable(${name} test/${name}.cpp)
    target_compile_options(${name} PRIVATE -Wconversion -Werror)
    target_link_libraries(${name} control_loop GTest::gtest GTest::gtest_main)
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST)
  endforeach()
endif()
