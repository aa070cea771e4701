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

#ifndef DYNAMICS_MODEL__RIGID_BODY_HPP_
#define DYNAMICS_MODEL__RIGID_BODY_HPP_

#include <array>
#include <vector>

#include <Eigen/Core>

namespace joint_dynamics
{

/// Values of the n joints, in the order of `Arm::joint_names()`; contiguous.
using ConstVector = const Eigen::Ref<const Eigen::VectorXd> &;
using VectorOut = Eigen::Ref<Eigen::VectorXd>;

constexpr int MAX_JOINTS = 24;  ///< most joints of one arm, dependent ones included
constexpr int MAX_LEADERS = 4;  ///< most joints that a dependent one follows
/// A vector of the n joints on the stack.
using JointVector = Eigen::Matrix<double, Eigen::Dynamic, 1, Eigen::ColMajor, MAX_JOINTS, 1>;

/// Row of the constant map from the n independent joints to one joint of the tree: q_tree = Σ ratio q_leader + offset.
///
/// An independent joint follows itself with ratio 1. Forces within closed loops do no work, so that τ = Gᵀ τ_tree
/// [Khalil and Dombre, Modeling, Identification and Control of Robots, ch. 10].
struct Follower
{
  int leaders = 0;
  std::array<Eigen::Index, MAX_LEADERS> leader{};  ///< indices of joints
  std::array<double, MAX_LEADERS> ratio{};
  double offset = 0.0;  ///< rad or m

  double rate(ConstVector values) const noexcept
  {
    double total = 0.0;
    for (int k = 0; k < leaders; ++k) {
      total += ratio[static_cast<std::size_t>(k)] * values[leader[static_cast<std::size_t>(k)]];
    }
    return total;
  }
  double position(ConstVector q) const noexcept {return rate(q) + offset;}
};

/// Inertial standard parameters of one link in its joint frame.
struct Body
{
  Eigen::Matrix3d tensor = Eigen::Matrix3d::Zero();  ///< kg·m², about the frame's origin: XX XY XZ; XY YY YZ; XZ YZ ZZ
  Eigen::Vector3d first = Eigen::Vector3d::Zero();   ///< kg·m: MX MY MZ
  double mass = 0.0;                                 ///< kg: M

  /// A point mass [kg] at a position [m].
  static Body point(double mass, const Eigen::Vector3d & position);
  /// The same body in a frame in which this frame has a rotation and an origin [m].
  Body placed(const Eigen::Matrix3d & rotation, const Eigen::Vector3d & origin) const;
  Body & operator+=(const Body & other);
};

/// One link and its joint.
struct Link
{
  int parent = -1;         ///< index of the link before; −1: the base
  bool prismatic = false;
  Eigen::Vector3d axis = Eigen::Vector3d::UnitZ();            ///< unit vector in the joint frame
  Eigen::Matrix3d rotation = Eigen::Matrix3d::Identity();     ///< of the joint frame in the parent's, at q = 0
  Eigen::Vector3d translation = Eigen::Vector3d::Zero();      ///< m
  Body body;
  Follower follower;
};

/// A tree of links, parents first, and its dynamics for the n independent joints.
///
/// Newton-Euler recursion on the standard parameters as they stand. With w, ẇ the angular velocity and acceleration of
/// a link in its frame and a the acceleration of its origin less gravity:
///
///     f = ẇ × m c + w × (w × m c) + m a,   n = J ẇ + w × J w + m c × a
class RigidBody
{
public:
  RigidBody() = default;
  /// @param gravity acceleration of gravity in the base frame, m/s²
  RigidBody(const std::vector<Link> & links, const Eigen::Vector3d & gravity);

  /// M q̈ + C q̇ + g (n) [N·m] of q, dq, ddq (n) [rad, rad/s, rad/s²].
  void inverse_dynamics(ConstVector q, ConstVector dq, ConstVector ddq, VectorOut tau) const noexcept;
  /// g (n) [N·m].
  void gravity(ConstVector q, VectorOut tau) const noexcept;
  /// M(q) a (n) [N·m] of an acceleration a (n) [rad/s²].
  void inertia_torque(ConstVector q, ConstVector acceleration, VectorOut tau) const noexcept;

private:
  struct Turning
  {
    Link link;
    Eigen::Matrix3d by_sine;     // rotation = link.rotation + by_sine sin q + by_versine (1 − cos q)
    Eigen::Matrix3d by_versine;
    Eigen::Vector3d slide;       // m per m, of the origin in the parent's frame
  };
  void recursion(
    ConstVector q, ConstVector dq, ConstVector ddq, const Eigen::Vector3d & fall, VectorOut tau) const noexcept;

  std::vector<Turning> links_;
  Eigen::Vector3d fall_ = Eigen::Vector3d::Zero();  // −gravity, m/s²
};

/// Motor, or passive joint, that turns with several joints: at Σ ratio q̇ [G eq 24-25].
struct CoupledMotor
{
  JointVector ratios;      ///< (n) speed per joint speed, 1 for its own joint
  double inertia = 0.0;    ///< Ia_m, kg·m²
  double viscous = 0.0;    ///< Fv_m, N·m·s/rad
  double coulomb = 0.0;    ///< Fs_m, N·m
};

}  // namespace joint_dynamics

#endif  // DYNAMICS_MODEL__RIGID_BODY_HPP_
