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

# The library without ROS and its tests, on plain Debian packages: included by CMakeLists.txt, with or without ament.
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(yaml-cpp REQUIRED)
find_package(urdfdom REQUIRED)

add_library(dynamics_model STATIC
  src/dynamics_model/arm.cpp
  src/dynamics_model/arm_reading.cpp
  src/dynamics_model/field.cpp
  src/dynamics_model/friction.cpp
  src/dynamics_model/identity.cpp
  src/dynamics_model/joint.cpp
  src/dynamics_model/maxwell_slip.cpp
  src/dynamics_model/periodic_map.cpp
  src/dynamics_model/rigid_body.cpp
  src/dynamics_model/robot.cpp
  src/dynamics_model/term.cpp
  src/dynamics_model/torsional_stiffness.cpp
)
target_compile_features(dynamics_model PUBLIC cxx_std_17)
target_compile_options(dynamics_model PRIVATE -Wconversion)
# part of the controllers' shared library
set_target_properties(dynamics_model PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_include_directories(dynamics_model
  PUBLIC
    $<BUILD_INTERFACE:${CMAKE_CURRENT_LIST_DIR}/include>
    $<INSTALL_INTERFACE:include/${PROJECT_NAME}>
)
target_include_directories(dynamics_model SYSTEM PRIVATE ${urdfdom_INCLUDE_DIRS})
target_link_libraries(dynamics_model PUBLIC Eigen3::Eigen yaml-cpp PRIVATE ${urdfdom_LIBRARIES})

if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  # Torques of the Python package, where test/ros2_control/golden_vectors.py wrote them.
  set(GOLDEN_VECTORS "" CACHE PATH "folder of golden vectors; empty: without that test")
  set(DYNAMICS_MODEL_TESTS test_arm)
  if(GOLDEN_VECTORS)
    list(APPEND DYNAMICS_MODEL_TESTS test_golden_vectors)
  endif()
  foreach(name IN LISTS DYNAMICS_MODEL_TESTS)
    add_executable(${name} test/dynamics_model/${name}.cpp)
    target_compile_options(${name} PRIVATE -Wconversion)
    target_compile_definitions(${name} PRIVATE GOLDEN_VECTORS="${GOLDEN_VECTORS}")
    target_link_libraries(${name} dynamics_model GTest::gtest GTest::gtest_main)
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST)
  endforeach()
endif()
