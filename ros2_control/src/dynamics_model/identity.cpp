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

#include "dynamics_model/identity.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <Eigen/Geometry>

namespace joint_dynamics
{
namespace
{

constexpr double VERSION = 1.0;     // a later one says more than is known here
constexpr double TOLERANCE = 2e-3;  // m or rad: rounding and calibration make no other robot
constexpr double HEAVIER = 3.0;     // times the nominal mass from which on a robot is another one

Eigen::Vector3d vector_of(const Field & field)
{
  const std::vector<double> values = field.numbers(3);
  return {values[0], values[1], values[2]};
}

/// Returns whether the joint of a robot follows the joints of {leader: factor}, which is missing where it follows none.
bool follows_alike(const Field & document, const TreeJoint & own)
{
  std::map<std::string, double> ratios;
  if (!own.independent()) {
    ratios = own.follows.ratios;
  }
  for (const auto & [leader, ratio] : document.entries()) {
    ratios[leader] -= ratio.number();
  }
  return std::all_of(ratios.begin(), ratios.end(), [](const auto & each) {return std::abs(each.second) <= TOLERANCE;});
}

void check_joint(const Field & joint, const TreeJoint & own, const Robot & robot)
{
  joint.only({"type", "parent", "offset", "rotation", "axis", "coupling", "follows"});
  const auto same = [](const auto & a, const auto & b) {return (a - b).cwiseAbs().maxCoeff() <= TOLERANCE;};
  const Link & link = own.link;
  const Field parent = joint["parent"];
  const std::string before = link.parent < 0 ? "" : robot.tree()[static_cast<std::size_t>(link.parent)].name;
  const Eigen::Vector3d rpy = vector_of(joint.at("rotation"));
  const Eigen::Quaterniond turn = Eigen::AngleAxisd(rpy.z(), Eigen::Vector3d::UnitZ()) *
    Eigen::AngleAxisd(rpy.y(), Eigen::Vector3d::UnitY()) * Eigen::AngleAxisd(rpy.x(), Eigen::Vector3d::UnitX());
  const auto check = [](const Field & field, bool is_same) {
      if (!is_same) {
        field.refuse("that of this robot", "another one");
      }
    };
  check(joint.at("type"), joint.at("type").text() == (link.prismatic ? "prismatic" : "revolute"));
  check(parent, before == (parent.present() && !parent.is_null() ? parent.text() : ""));
  check(joint.at("offset"), same(vector_of(joint.at("offset")), link.translation));
  check(joint.at("rotation"), same(turn.toRotationMatrix(), link.rotation));
  check(joint.at("axis"), same(vector_of(joint.at("axis")), link.axis));
  check(joint["follows"], follows_alike(joint["follows"], own));
}

}  // namespace

void check_identity(const Field & identity, const Robot & robot, double identified_mass)
{
  identity.only({"version", "hash", "joints", "mass"});
  identity.at("hash").text();
  if (identity.at("version").number() != VERSION) {
    return;
  }
  for (const auto & [name, joint] : identity.at("joints").entries()) {
    const TreeJoint * own = robot.find(name);
    if (own == nullptr) {
      joint.refuse("a joint of this robot", "another one");
    }
    check_joint(joint, *own, robot);
  }
  double mass = 0.0;
  for (const TreeJoint & joint : robot.tree()) {
    identity.at("joints").at(joint.name);
    mass += joint.link.body.mass;
  }
  const auto differs = [mass](double value) {return !(value < HEAVIER * mass && mass < HEAVIER * value);};
  const double nominal = identity["mass"].number_or(0.0);
  if (mass > 0.0 && nominal > 0.0 && differs(nominal) && (!(identified_mass > 0.0) || differs(identified_mass))) {
    identity["mass"].refuse("that of the URDF, " + std::to_string(mass) + " kg", std::to_string(nominal) + " kg");
  }
}

}  // namespace joint_dynamics
