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

//
// The arm against the torques of the Python package. GOLDEN_VECTORS: the folder that
// test/ros2_control/golden_vectors.py wrote.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "dynamics_model/arm.hpp"

namespace joint_dynamics
{
namespace
{

constexpr double EXACT = 1e-9;  // N·m: torques below 1e4 N·m through a few hundred operations round to 1e-10

std::vector<std::filesystem::path> files()
{
  std::vector<std::filesystem::path> all;
  for (const auto & entry : std::filesystem::directory_iterator(GOLDEN_VECTORS)) {
    if (entry.path().extension() == ".json") {
      all.push_back(entry.path());
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

ArmOptions options_of(const YAML::Node & given)
{
  ArmOptions options;
  options.mounting = given["mounting"].as<std::vector<double>>();
  options.payload_mass = given["payload_mass"].as<double>();
  options.payload_center = given["payload_center"].as<std::array<double, 3>>();
  options.gravity = given["gravity"].as<bool>();
  const auto friction = given["friction"].as<std::string>();
  options.friction = friction == "none" ? FrictionMode::none : friction == "static" ? FrictionMode::static_map :
    FrictionMode::hysteresis;
  options.rest_gain = given["rest_gain"].as<double>();
  options.friction_smoothing = given["friction_smoothing"].as<double>();
  // the golden torques take every α as it is given
  options.alpha_lower = {-100.0, -100.0};
  options.alpha_upper = {100.0, 100.0};
  return options;
}

Eigen::VectorXd row(const YAML::Node & rows, std::size_t k)
{
  const auto values = rows[k].as<std::vector<double>>();
  return Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}

class GoldenVectors : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(GoldenVectors, torque)
{
  const YAML::Node golden = YAML::LoadFile(GetParam());
  ArmOptions options = options_of(golden["options"]);
  const auto joints = golden["joints"].as<std::vector<std::string>>();
  options.friction_gain.assign(joints.size(), golden["options"]["friction_gain"].as<double>());
  const Arm arm(golden["urdf"].as<std::string>(), golden["description"].as<std::string>(), joints, options);
  ASSERT_EQ(arm.joint_names(), joints);
  const Eigen::Index n = arm.size();
  ArmState state = arm.begin();
  Eigen::VectorXd tau(n);
  for (std::size_t k = 0; k < golden["q"].size(); ++k) {
    const Eigen::VectorXd q = row(golden["q"], k), dq = row(golden["dq"], k), ddq = row(golden["ddq"], k);
    Eigen::VectorXd temperature = Eigen::VectorXd::Constant(n, std::nan(""));
    Scale alpha = Scale::Constant(n, 2, std::nan(""));
    if (!golden["temperature"].IsNull()) {
      temperature = row(golden["temperature"], k);
    }
    if (!golden["alpha"].IsNull()) {
      const Eigen::VectorXd given = row(golden["alpha"], k);
      alpha = Eigen::Map<const Scale>(given.data(), n, 2);
    }
    arm.adapt(state, temperature, alpha);
    arm.motor_torque(state, q, dq, ddq, tau);
    ASSERT_LE((tau - row(golden["torque"], k)).cwiseAbs().maxCoeff(), EXACT) << "sample " << k;
    arm.gravity(q, tau);
    ASSERT_LE((tau - row(golden["gravity"], k)).cwiseAbs().maxCoeff(), EXACT) << "gravity, sample " << k;
    arm.inertia_torque(q, ddq, tau);
    ASSERT_LE((tau - row(golden["inertia_torque"], k)).cwiseAbs().maxCoeff(), EXACT) << "inertia, sample " << k;
  }
}

std::string name_of(const testing::TestParamInfo<std::filesystem::path> & info)
{
  std::string name = info.param.stem();
  std::replace_if(name.begin(), name.end(), [](char c) {return !std::isalnum(static_cast<unsigned char>(c));}, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Python, GoldenVectors, testing::ValuesIn(files()), name_of);

TEST(GoldenVectors, every_description_refused_by_python)
{
  const auto refused = YAML::LoadFile(GOLDEN_VECTORS "/refused/refused.json");
  ASSERT_GT(refused.size(), 0u);
  ArmOptions options;
  options.friction = FrictionMode::hysteresis;
  for (const YAML::Node & each : refused) {
    try {
      const Arm arm("", each["description"].as<std::string>(), {}, options);
      ADD_FAILURE() << "accepted: " << each["name"];
    } catch (const std::runtime_error & error) {
      const std::string name = each["name"].as<std::string>();
      if (name.rfind("unknown", 0) == 0) {
        EXPECT_NE(std::string(error.what()).find(each["key"].as<std::string>()), std::string::npos)
          << name << ": " << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace joint_dynamics
