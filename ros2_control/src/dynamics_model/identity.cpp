// Copyright 2026 The joint_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#include "dynamics_model/identity.hpp"

#include <stdexcept>

#include <Eigen/Geometry>

namespace joint_dynamics
{
namespace
{

constexpr double VERSION = 1.0;
constexpr double TOLERANCE = 2e-3;  // m or rad: rounding and calibration make no other robot
constexpr double HEAVIER = 3.0;     // times the nominal mass from which on a robot is another one

[[noreturn]] void refuse(const std::string & difference)
{
  throw std::runtime_error(
          "dynamics description: robot.identity: expected that of this robot, found another one: " + difference);
}

Eigen::Vector3d vector_of(const Field & field)
{
  const std::vector<double> values = field.numbers(3);
  return {values[0], values[1], values[2]};
}

}  // namespace

Identity::Identity(const Field & document)
{
  document.only({"version", "hash", "joints", "mass"});
  document.at("hash").text();
  comparable_ = document.at("version").number() == VERSION;
  mass_ = document["mass"].number_or(0.0);
  for (const auto & [name, joint] : document.at("joints").entries()) {
    joint.only({"type", "parent", "offset", "rotation", "axis", "coupling", "follows"});
    const Field parent = joint["parent"];
    const Eigen::Vector3d rpy = vector_of(joint.at("rotation"));
    const Eigen::Quaterniond turn = Eigen::AngleAxisd(rpy.z(), Eigen::Vector3d::UnitZ()) *
      Eigen::AngleAxisd(rpy.y(), Eigen::Vector3d::UnitY()) * Eigen::AngleAxisd(rpy.x(), Eigen::Vector3d::UnitX());
    Place place{
      joint.at("type").text() == "prismatic", parent.present() && !parent.is_null() ? parent.text() : "",
      turn.toRotationMatrix(), vector_of(joint.at("offset")), vector_of(joint.at("axis")), {}};
    for (const auto & [leader, ratio] : joint["follows"].entries()) {
      place.follows[leader] = ratio.number();
    }
    joints_.emplace(name, place);
  }
}

Identity::Identity(const Robot & robot)
{
  for (const TreeJoint & joint : robot.tree()) {
    const Link & link = joint.link;
    const std::string parent = link.parent < 0 ? "" : robot.tree()[static_cast<std::size_t>(link.parent)].name;
    const auto follows = joint.independent() ? std::map<std::string, double>() : joint.follows.ratios;
    joints_.emplace(joint.name, Place{link.prismatic, parent, link.rotation, link.translation, link.axis, follows});
    mass_ += robot.has_inertials() ? link.body.mass : 0.0;
  }
}

std::string Identity::difference(const Place & described, const Place & own)
{
  const auto apart = [](const auto & a, const auto & b) {return !((a - b).cwiseAbs().maxCoeff() <= TOLERANCE);};
  std::map<std::string, double> ratios = own.follows;
  for (const auto & [leader, ratio] : described.follows) {
    ratios[leader] -= ratio;
  }
  bool follows_others = false;
  for (const auto & [leader, ratio] : ratios) {
    follows_others = follows_others || !(std::abs(ratio) <= TOLERANCE);
  }
  return described.prismatic != own.prismatic ? "type" : described.parent != own.parent ? "joint before it" :
         apart(described.offset, own.offset) ? "offset [m]" : apart(described.rotation, own.rotation) ? "rotation" :
         apart(described.axis, own.axis) ? "axis" : follows_others ? "factors of the joints that it follows" : "";
}

void Identity::check(const Robot & robot, double identified_mass) const
{
  if (!comparable_) {
    return;
  }
  const Identity own(robot);
  for (const auto & [name, place] : joints_) {
    const auto found = own.joints_.find(name);
    if (found == own.joints_.end()) {
      refuse("joint " + name + " is in the description only");
    }
    const std::string quantity = difference(place, found->second);
    if (!quantity.empty()) {
      refuse(quantity + " of " + name + " differs");
    }
  }
  for (const auto & [name, place] : own.joints_) {
    if (joints_.count(name) == 0) {
      refuse("joint " + name + " is of the robot only");
    }
  }
  const auto heavier = [&own](double mass) {return !(own.mass_ < HEAVIER * mass && mass < HEAVIER * own.mass_);};
  if (own.mass_ > 0.0 && mass_ > 0.0 && heavier(mass_) && (!(identified_mass > 0.0) || heavier(identified_mass))) {
    refuse("moving links of " + std::to_string(mass_) + " kg, " + std::to_string(own.mass_) + " kg in the URDF");
  }
}

}  // namespace joint_dynamics
