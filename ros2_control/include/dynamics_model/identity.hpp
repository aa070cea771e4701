// Copyright 2026 The joint_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#ifndef DYNAMICS_MODEL__IDENTITY_HPP_
#define DYNAMICS_MODEL__IDENTITY_HPP_

#include <map>
#include <string>

#include "dynamics_model/field.hpp"
#include "dynamics_model/robot.hpp"

namespace joint_dynamics
{

/// Which robot a description belongs to: the kinematics of its joints and its nominal mass.
class Identity
{
public:
  /// As `robot.identity` of a description states it.
  explicit Identity(const Field & document);
  /// That of the URDF in a description.
  explicit Identity(const Robot & robot);

  /// Refuses another robot: other joints, lengths or angles apart by over 2 mm or 2 mrad, or links three times as heavy
  /// or light as both those of the identification's URDF and the identified ones [kg]; 0: not known.
  /// @throws std::runtime_error that names joint and quantity
  void check(const Robot & robot, double identified_mass) const;

private:
  struct Place
  {
    bool prismatic;
    std::string parent;  // '': the base
    Eigen::Matrix3d rotation;
    Eigen::Vector3d offset;  // m
    Eigen::Vector3d axis;
    std::map<std::string, double> follows;  // empty: independent
  };
  static std::string difference(const Place & described, const Place & own);

  bool comparable_ = true;  // a later version says more than is known here
  std::map<std::string, Place> joints_;
  double mass_ = 0.0;  // kg, of the moving links; 0: not known
};

}  // namespace joint_dynamics

#endif  // DYNAMICS_MODEL__IDENTITY_HPP_
