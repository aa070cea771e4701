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

#include "dynamics_model/robot.hpp"
#include "dynamics_model/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include <Eigen/Geometry>
#include <urdf_model/model.h>
#include <urdf_parser/urdf_parser.h>

namespace joint_dynamics
{
namespace
{

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr std::size_t MAX_LINKS = 500;       // the tree is walked recursively; humanoids have half as many
constexpr double MAX_RATIO = 1e4;           // between the positions of two joints; a gripper's mm per rad are 1e-3
constexpr double MAX_TURN = 20.0 * M_PI;    // rad, ten turns: degrees are further

/// Takes an angle for the multiple of π/2 within half a unit of its last digit: 1.57, 3.1416.
std::string right_angle(const std::string & printed)
{
  char * end = nullptr;
  const double value = std::strtod(printed.c_str(), &end);
  const std::size_t point = printed.find('.'), exponent = std::min(printed.find_first_of("eE"), printed.size());
  if (*end != 0 || !std::isfinite(value) || point == std::string::npos || point > exponent) {
    return printed;
  }
  const double decimals = static_cast<double>(exponent - point - 1);
  const double power = exponent < printed.size() ? std::strtod(printed.c_str() + exponent + 1, nullptr) : 0.0;
  const double unit = std::pow(10.0, power - decimals);
  const double multiple = std::nearbyint(value / (M_PI / 2)) * (M_PI / 2);
  if (unit > 0.011 || std::abs(value - multiple) > unit / 2) {
    return printed;  // a single decimal tells nothing: 1.6 may be 1.6
  }
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", multiple);
  return text;
}

/// Returns the URDF with right angles in full precision.
std::string with_right_angles(const std::string & urdf)
{
  std::string text;
  std::size_t done = 0;
  for (std::size_t at = urdf.find("rpy"); at != std::string::npos; at = urdf.find("rpy", at + 3)) {
    const std::size_t open = urdf.find_first_not_of(" \t\r\n=", at + 3);
    const std::size_t close = open < urdf.size() ? urdf.find(urdf[open], open + 1) : std::string::npos;
    if (close == std::string::npos || (urdf[open] != '"' && urdf[open] != '\'')) {
      continue;
    }
    text += urdf.substr(done, open + 1 - done);
    std::size_t from = open + 1;
    while ((from = urdf.find_first_not_of(" \t\r\n", from)) < close) {
      const std::size_t to = std::min(urdf.find_first_of(" \t\r\n", from), close);
      text += right_angle(urdf.substr(from, to - from)) + " ";
      from = to;
    }
    done = close;
  }
  return text + urdf.substr(done);
}

using Placement = Eigen::Isometry3d;

Placement placement_of(const urdf::Pose & pose, const std::string & where)
{
  const Eigen::Quaterniond turn(pose.rotation.w, pose.rotation.x, pose.rotation.y, pose.rotation.z);
  const Placement placement = Eigen::Translation3d(pose.position.x, pose.position.y, pose.position.z) * turn;
  if (!placement.matrix().allFinite()) {
    refuse("robot: " + where, "a finite origin", "another one");
  }
  return placement;
}

bool is_movable(const urdf::Joint & joint)
{
  return joint.type == urdf::Joint::REVOLUTE || joint.type == urdf::Joint::CONTINUOUS ||
         joint.type == urdf::Joint::PRISMATIC;
}

Body body_of(const urdf::Link & link)
{
  if (!link.inertial) {
    return {};
  }
  const urdf::Inertial & given = *link.inertial;
  Body body;
  body.tensor << given.ixx, given.ixy, given.ixz, given.ixy, given.iyy, given.iyz, given.ixz, given.iyz, given.izz;
  body.mass = given.mass;
  if (!body.tensor.allFinite() || !(given.mass >= 0.0) || !std::isfinite(given.mass)) {
    refuse("robot: link " + link.name, "a finite inertia and a mass of at least 0 kg", std::to_string(given.mass));
  }
  const Placement origin = placement_of(given.origin, "link " + link.name);
  return body.placed(origin.linear(), origin.translation());
}

void take_limits(TreeJoint & moving, const urdf::Joint & joint)
{
  moving.lower = -INF;
  moving.upper = moving.velocity = moving.effort = INF;
  if (!joint.limits) {
    if (joint.type != urdf::Joint::CONTINUOUS) {
      refuse("robot: joint " + joint.name, "<limit> with effort and velocity", "none");
    }
    return;
  }
  const urdf::JointLimits & given = *joint.limits;
  // zeros are what exporters write for no limit
  if (joint.type != urdf::Joint::CONTINUOUS && given.lower != given.upper) {
    moving.lower = given.lower;
    moving.upper = given.upper;
  }
  const bool turns = joint.type == urdf::Joint::REVOLUTE && std::isfinite(moving.upper - moving.lower);
  if (!(moving.lower <= moving.upper) || (turns && !(std::max(-moving.lower, moving.upper) <= MAX_TURN))) {
    refuse("robot: joint " + joint.name, "a lower limit below the upper one, in rad within ten turns", "others");
  }
  if (!(given.velocity >= 0.0 && given.effort >= 0.0)) {
    refuse("robot: joint " + joint.name, "limits of velocity and effort of at least 0", "others");
  }
  moving.velocity = given.velocity > 0.0 ? given.velocity : INF;
  moving.effort = given.effort > 0.0 ? given.effort : INF;
}

/// Joints that each declared joint follows in the end, through chains of dependent joints.
Follows resolved(
  const std::string & name, const std::map<std::string, Follows> & declared, const std::set<std::string> & moving,
  const std::map<std::string, double> & locked, int depth = 0)
{
  if (depth > MAX_JOINTS) {
    refuse("robot: joint " + name, "joints that do not follow themselves", "a loop");
  }
  if (moving.count(name) > 0) {
    return {{{name, 1.0}}, 0.0};
  }
  const auto follows = declared.find(name);
  if (locked.count(name) > 0 || follows == declared.end()) {
    return {{}, locked.count(name) > 0 ? locked.at(name) : 0.0};
  }
  Follows end{{}, follows->second.offset};
  for (const auto & [leader, ratio] : follows->second.ratios) {
    const Follows part = resolved(leader, declared, moving, locked, depth + 1);
    end.offset += ratio * part.offset;
    for (const auto & [key, more] : part.ratios) {
      end.ratios[key] += ratio * more;
    }
  }
  for (auto ratio = end.ratios.begin(); ratio != end.ratios.end(); ) {
    ratio = ratio->second == 0.0 ? end.ratios.erase(ratio) : std::next(ratio);
  }
  if (end.ratios.size() > MAX_LEADERS) {
    refuse("robot: joint " + name, "at most 4 joints that it follows", std::to_string(end.ratios.size()));
  }
  return end;
}

}  // namespace

Robot::Robot(
  const std::string & urdf, const std::vector<std::string> & joints, const std::map<std::string, double> & locked,
  const std::map<std::string, Follows> & parallelograms)
{
  const urdf::ModelInterfaceSharedPtr model = urdf::parseURDF(with_right_angles(urdf));
  if (!model || !model->getRoot() || model->links_.size() > MAX_LINKS) {
    refuse("robot", "a URDF of at most 500 links", "text that urdfdom does not read, or more");
  }
  std::map<std::string, Follows> declared = parallelograms;
  std::set<std::string> movable, moving(joints.begin(), joints.end());
  for (const auto & [name, joint] : model->joints_) {
    if (!is_movable(*joint) && joint->type != urdf::Joint::FIXED) {
      refuse("robot: joint " + name, "a revolute, continuous, prismatic or fixed joint", "another one");
    }
    if (is_movable(*joint)) {
      movable.insert(name);
      if (joint->mimic && parallelograms.count(name) == 0) {
        declared[name] = {{{joint->mimic->joint_name, joint->mimic->multiplier}}, joint->mimic->offset};
      }
    }
  }
  const auto must_move = [&movable](const std::string & name) {
      if (movable.count(name) == 0) {
        refuse("robot: joint " + name, "a movable joint of the URDF", "none");
      }
    };
  for (const auto & [name, follows] : declared) {
    must_move(name);
    for (const auto & [leader, ratio] : follows.ratios) {
      if (model->joints_.count(leader) == 0 || !(ratio != 0.0 && std::abs(ratio) <= MAX_RATIO) ||
        !(std::abs(follows.offset) <= MAX_RATIO))
      {
        refuse("robot: joint " + name, "joints that it follows, with factors other than 0 up to 1e4", leader);
      }
    }
  }
  for (const auto & [name, position] : locked) {
    must_move(name);
  }
  for (const std::string & name : joints) {
    must_move(name);
    if (declared.count(name) > 0) {
      refuse("robot: joint " + name, "a joint that moves by itself", "one that follows others");
    }
  }
  for (const std::string & name : movable) {
    if (joints.empty() && declared.count(name) == 0) {
      moving.insert(name);
    }
  }
  // a link and its placement in the frame of the moving joint before it (−1: the base)
  const std::function<void(const urdf::Link &, int, const Placement &)> visit =
    [&](const urdf::Link & link, int before, const Placement & placed) {
      has_inertials_ = has_inertials_ || link.inertial;
      const Body body = body_of(link);
      if (before >= 0) {
        tree_[static_cast<std::size_t>(before)].link.body += body.placed(placed.linear(), placed.translation());
      }
      for (const urdf::JointSharedPtr & joint : link.child_joints) {
        const urdf::Link & child = *model->getLink(joint->child_link_name);
        Placement next = placed * placement_of(joint->parent_to_joint_origin_transform, "joint " + joint->name);
        if (!is_movable(*joint)) {
          visit(child, before, next);
          continue;
        }
        const Eigen::Vector3d axis(joint->axis.x, joint->axis.y, joint->axis.z);
        if (!(axis.norm() > 1e-6 && std::isfinite(axis.norm()))) {
          refuse("robot: joint " + joint->name, "an axis with a direction", "none");
        }
        const bool slides = joint->type == urdf::Joint::PRISMATIC;
        const Follows follows = resolved(joint->name, declared, moving, locked);
        if (follows.ratios.empty()) {
          const Placement moved = slides ? Placement(Eigen::Translation3d(follows.offset * axis.normalized())) :
            Placement(Eigen::AngleAxisd(follows.offset, axis.normalized()));
          visit(child, before, next * moved);
          continue;
        }
        TreeJoint added;
        added.name = joint->name;
        added.link.parent = before;
        added.link.prismatic = slides;
        added.link.axis = axis.normalized();
        added.link.rotation = next.linear();
        added.link.translation = next.translation();
        added.follows = follows;
        take_limits(added, *joint);
        tree_.push_back(added);
        visit(child, static_cast<int>(tree_.size()) - 1, Placement::Identity());
      }
    };
  visit(*model->getRoot(), -1, Placement::Identity());
  if (tree_.empty() || tree_.size() > MAX_JOINTS) {
    refuse("robot", "1 to 24 joints that move", std::to_string(tree_.size()));
  }
}

std::vector<std::string> Robot::joint_names() const
{
  std::vector<std::string> names;
  for (const TreeJoint & joint : tree_) {
    if (joint.independent()) {
      names.push_back(joint.name);
    }
  }
  return names;
}

const TreeJoint * Robot::find(const std::string & name) const
{
  const auto same = [&name](const TreeJoint & joint) {return joint.name == name;};
  const auto found = std::find_if(tree_.begin(), tree_.end(), same);
  return found == tree_.end() ? nullptr : &*found;
}

}  // namespace joint_dynamics
