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

#ifndef DYNAMICS_MODEL__ROBOT_HPP_
#define DYNAMICS_MODEL__ROBOT_HPP_

#include <map>
#include <string>
#include <vector>

#include "dynamics_model/rigid_body.hpp"

namespace joint_dynamics
{

/// Position of a dependent joint: Σ ratios[leader] q_leader + offset [rad or m].
struct Follows
{
  std::map<std::string, double> ratios;
  double offset = 0.0;
};

/// One moving joint of a URDF, with the link that it moves and all links fixed to that one.
struct TreeJoint
{
  std::string name;
  Link link;        ///< without follower
  Follows follows;  ///< an independent joint follows itself
  double lower = 0.0;     ///< rad or m; limits are infinite where the URDF states none
  double upper = 0.0;     ///< rad or m
  double velocity = 0.0;  ///< rad/s or m/s
  double effort = 0.0;    ///< N·m or N

  bool independent() const {return follows.ratios.count(name) > 0;}
};

/// Rigid bodies of a URDF, cut down to the chosen joints and those that follow them; all others are locked.
class Robot
{
public:
  /// @param urdf XML text
  /// @param joints independent joints to keep; empty: all
  /// @param locked positions [rad or m] of joints that do not move; 0 for those not named
  /// @param parallelograms dependent joints in addition to the mimic joints of the URDF
  /// @throws std::runtime_error for text that is no URDF of one-axis joints, and joints that it does not have
  Robot(
    const std::string & urdf, const std::vector<std::string> & joints, const std::map<std::string, double> & locked,
    const std::map<std::string, Follows> & parallelograms);

  /// Joints of the tree, parents first, children in alphabetical order.
  const std::vector<TreeJoint> & tree() const {return tree_;}
  bool has_inertials() const {return has_inertials_;}
  /// Names of the independent joints, in the order of the tree.
  std::vector<std::string> joint_names() const;
  /// The joint of this name; nullptr where there is none.
  const TreeJoint * find(const std::string & name) const;

private:
  std::vector<TreeJoint> tree_;
  bool has_inertials_ = false;
};

}  // namespace joint_dynamics

#endif  // DYNAMICS_MODEL__ROBOT_HPP_
