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
// Times of one golden vector: `bench_arm golden/robot_ur5e.json`. Not a test.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "dynamics_model/arm.hpp"

namespace
{

constexpr int CONSTRUCTIONS = 50;
constexpr std::size_t CALLS = 200000;

double microseconds_since(std::chrono::steady_clock::time_point start)
{
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

void report(const char * what, std::vector<double> & times)
{
  std::sort(times.begin(), times.end());
  double sum = 0.0;
  for (const double time : times) {
    sum += time;
  }
  const auto last = static_cast<double>(times.size() - 1);
  const auto at = [&](double share) {return times[static_cast<std::size_t>(share * last)];};
  std::printf(
    "%s: mean %.2f, median %.2f, 99.9 %% %.2f, most %.2f us\n", what, sum / static_cast<double>(times.size()), at(0.5),
    at(0.999), times.back());
}

}  // namespace

int main(int count, char ** arguments)
{
  if (count != 2) {
    std::fprintf(stderr, "usage: bench_arm GOLDEN_VECTOR\n");
    return 2;
  }
  const YAML::Node golden = YAML::LoadFile(arguments[1]);
  joint_dynamics::ArmOptions options;
  options.friction = joint_dynamics::FrictionMode::hysteresis;
  const auto urdf = golden["urdf"].as<std::string>(), description = golden["description"].as<std::string>();
  const auto joints = golden["joints"].as<std::vector<std::string>>();
  std::vector<double> times;
  for (int i = 0; i < CONSTRUCTIONS; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const joint_dynamics::Arm arm(urdf, description, joints, options);
    times.push_back(microseconds_since(start));
  }
  report("construction", times);
  const joint_dynamics::Arm arm(urdf, description, joints, options);
  joint_dynamics::ArmState state = arm.begin();
  std::vector<Eigen::VectorXd> motion;
  for (const char * name : {"q", "dq", "ddq"}) {
    for (const YAML::Node & row : golden[name]) {
      const auto values = row.as<std::vector<double>>();
      motion.push_back(Eigen::Map<const Eigen::VectorXd>(values.data(), arm.size()));
    }
  }
  const std::size_t samples = golden["q"].size();
  Eigen::VectorXd tau(arm.size());
  times.assign(CALLS, 0.0);
  for (std::size_t k = 0; k < CALLS; ++k) {
    const std::size_t row = k % samples;
    const auto start = std::chrono::steady_clock::now();
    arm.motor_torque(state, motion[row], motion[samples + row], motion[2 * samples + row], tau);
    times[k] = microseconds_since(start);
  }
  report("motor_torque", times);
  return 0;
}
