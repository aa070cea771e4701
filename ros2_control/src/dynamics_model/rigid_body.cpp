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

#include "dynamics_model/rigid_body.hpp"

#include <cmath>

#include <Eigen/Geometry>

namespace joint_dynamics
{
namespace
{

/// Rotation and origin of a link in its parent's frame, its motion, and the wrench that the motion requires.
struct Moving
{
  Eigen::Matrix3d R;
  Eigen::Vector3d p;       // m
  Eigen::Vector3d w;       // rad/s
  Eigen::Vector3d dw;      // rad/s²
  Eigen::Vector3d a;       // m/s²
  Eigen::Vector3d force;   // N
  Eigen::Vector3d moment;  // N·m
};

}  // namespace

Body Body::point(double mass, const Eigen::Vector3d & position)
{
  const Eigen::Matrix3d tensor =
    mass * (position.squaredNorm() * Eigen::Matrix3d::Identity() - position * position.transpose());
  return {tensor, mass * position, mass};
}

Body Body::placed(const Eigen::Matrix3d & rotation, const Eigen::Vector3d & origin) const
{
  const Eigen::Vector3d h = rotation * first;
  Body body = point(mass, origin);
  body.tensor += rotation * tensor * rotation.transpose() + 2.0 * origin.dot(h) * Eigen::Matrix3d::Identity() -
    origin * h.transpose() - h * origin.transpose();
  body.first += h;
  return body;
}

Body & Body::operator+=(const Body & other)
{
  tensor += other.tensor;
  first += other.first;
  mass += other.mass;
  return *this;
}

/// Rodrigues: R(q) = E + sin q [axis]× + (1 − cos q) [axis]×².
RigidBody::RigidBody(const std::vector<Link> & links, const Eigen::Vector3d & gravity)
: fall_(-gravity)
{
  for (const Link & link : links) {
    Eigen::Matrix3d hat;
    hat << 0.0, -link.axis.z(), link.axis.y(), link.axis.z(), 0.0, -link.axis.x(), -link.axis.y(), link.axis.x(), 0.0;
    links_.push_back({link, link.rotation * hat, link.rotation * hat * hat, link.rotation * link.axis});
  }
}

void RigidBody::recursion(
  ConstVector q, ConstVector dq, ConstVector ddq, const Eigen::Vector3d & fall, VectorOut tau) const noexcept
{
  std::array<Moving, MAX_JOINTS> moving;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const auto & [link, by_sine, by_versine, slide] = links_[i];
    Moving & m = moving[i];
    const double angle = link.follower.position(q), speed = link.follower.rate(dq), up = link.follower.rate(ddq);
    m.R = link.rotation;
    m.p = link.translation;
    if (link.prismatic) {
      m.p += angle * slide;
    } else {
      m.R += by_sine * std::sin(angle) + by_versine * (1.0 - std::cos(angle));
    }
    if (link.parent < 0) {
      m.w.setZero();
      m.dw.setZero();
      m.a = m.R.transpose() * fall;
    } else {
      const Moving & before = moving[static_cast<std::size_t>(link.parent)];
      m.a = m.R.transpose() * (before.a + before.dw.cross(m.p) + before.w.cross(before.w.cross(m.p)));
      m.w = m.R.transpose() * before.w;
      m.dw = m.R.transpose() * before.dw;
    }
    const Eigen::Vector3d gyro = speed * m.w.cross(link.axis);
    if (link.prismatic) {
      m.a += up * link.axis + 2.0 * gyro;
    } else {
      m.w += speed * link.axis;
      m.dw += up * link.axis + gyro;
    }
    const Body & body = link.body;
    m.force = m.dw.cross(body.first) + m.w.cross(m.w.cross(body.first)) + body.mass * m.a;
    m.moment = body.tensor * m.dw + m.w.cross(body.tensor * m.w) + body.first.cross(m.a);
  }
  tau.setZero();
  for (std::size_t i = links_.size(); i-- > 0; ) {
    const Link & link = links_[i].link;
    const Moving & m = moving[i];
    const double torque = link.axis.dot(link.prismatic ? m.force : m.moment);
    for (int k = 0; k < link.follower.leaders; ++k) {
      const auto leader = static_cast<std::size_t>(k);
      tau[link.follower.leader[leader]] += link.follower.ratio[leader] * torque;
    }
    if (link.parent >= 0) {
      Moving & before = moving[static_cast<std::size_t>(link.parent)];
      const Eigen::Vector3d force = m.R * m.force;
      before.force += force;
      before.moment += m.p.cross(force) + m.R * m.moment;
    }
  }
}

void RigidBody::inverse_dynamics(ConstVector q, ConstVector dq, ConstVector ddq, VectorOut tau) const noexcept
{
  recursion(q, dq, ddq, fall_, tau);
}

void RigidBody::gravity(ConstVector q, VectorOut tau) const noexcept
{
  const JointVector still = JointVector::Zero(q.size());
  recursion(q, still, still, fall_, tau);
}

void RigidBody::inertia_torque(ConstVector q, ConstVector acceleration, VectorOut tau) const noexcept
{
  const JointVector still = JointVector::Zero(q.size());
  recursion(q, still, acceleration, Eigen::Vector3d::Zero(), tau);
}

}  // namespace joint_dynamics
