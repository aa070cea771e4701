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

#ifndef DYNAMICS_MODEL__ARM_HPP_
#define DYNAMICS_MODEL__ARM_HPP_

#include <array>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "dynamics_model/joint.hpp"
#include "dynamics_model/rigid_body.hpp"
#include "dynamics_model/robot.hpp"
#include "dynamics_model/term.hpp"

namespace joint_dynamics
{

/// α1 and α2 of the n joints.
using Scale = Eigen::Matrix<double, Eigen::Dynamic, 2, Eigen::RowMajor>;

/// Friction that a command compensates; the values of the parameter `friction`.
enum class FrictionMode
{
  none,       ///< rigid bodies, rotors and springs only
  static_map, ///< the map over speed, with its jump at standstill; value `static`
  hysteresis, ///< extended Maxwell-slip on the desired motion
};

/// Settings of an arm beside its description, by the names of the controller's parameters.
struct ArmOptions
{
  std::vector<double> mounting;  ///< base to world: roll-pitch-yaw [rad] or quaternion x y z w; empty: as described
  double payload_mass = 0.0;     ///< kg, added to the last link
  std::array<double, 3> payload_center{{0.0, 0.0, 0.0}};  ///< m, in the frame of the last joint
  bool gravity = true;           ///< whether the command holds gravity; false: the robot adds it itself
  bool current = false;          ///< whether the command is a current [A] instead of a torque [N·m]
  FrictionMode friction = FrictionMode::none;
  std::vector<double> friction_gain;   ///< share of the friction to compensate, one per joint; empty: 1
  double rest_gain = 1.0;              ///< share of the hysteresis that is compensated at standstill
  double friction_smoothing = 0.0;     ///< rad/s, over which the sign of the static map is smoothed; 0: not
  std::array<double, 2> alpha_lower{{0.4, -0.05}};  ///< lower bounds of α1 and of α2 [N·m·s/rad] [M6 eq 27]
  std::array<double, 2> alpha_upper{{2.5, 0.05}};   ///< upper bounds of them
  double viscous_share = 0.5;  ///< α2 may also be within this share of the viscous friction at 1 rad/s
};

/// What the URDF limits, (n) each; infinite where it states nothing.
struct JointLimits
{
  Eigen::VectorXd lower;     ///< rad or m
  Eigen::VectorXd upper;     ///< rad or m
  Eigen::VectorXd velocity;  ///< rad/s or m/s
  Eigen::VectorXd effort;    ///< N·m or N
};

/// State of an arm from sample to sample; made by `Arm::begin`, which allocates it.
struct ArmState
{
  Scale alpha;  ///< (n, 2) last valid α
  Eigen::VectorXd temperature;  ///< (n) °C, last valid one, within the range of the temperature model
  std::vector<std::vector<double>> sliders;  ///< (n)(M) rad, positions of the Maxwell-slip sliders; NaN: undeformed
  Eigen::VectorXd H;     ///< (n) hysteresis of the last sample, −1 … 1
  Eigen::VectorXd load;  ///< (n) N·m, τ_J of the last sample
};

/// The identified arm: motor torque along a desired motion.
///
///     τ_m = τ_J + B q̈ + coupled rotors + f + Σ terms               [M6 eq 30 with the B q̈ missing in print]
///     τ_J = M(q) q̈ + C(q, q̇) q̇ + g(q), with payload and mounting
///     f   = gain (α1 F(τ_J) H(θ) + α2 q̇ + F_v(q̇, T) + coupled friction),  θ = q + φ(τ_J) + θ̃
///
/// SI units, joint side of the gear; torques are positive in the direction of q. The Python class of the same name
/// (`joint_dynamics.arm.Arm`) gives the same torques within 1e-9 N·m. After construction nothing allocates, locks or
/// throws; one `Arm` may serve several threads, each with a state of its own. Vectors have n entries.
class Arm
{
public:
  /// Reads robot and description.
  /// @param urdf XML text; empty: `robot.urdf` of the description
  /// @param description of the dynamics; missing: inertials of the URDF, no friction
  /// @param joints independent joints, in the order of every vector; empty: those of the description, or of the URDF
  /// @throws std::runtime_error with the path of the field, what was expected there and what was found
  Arm(
    const std::string & urdf, const Field & description, const std::vector<std::string> & joints,
    const ArmOptions & options = {});
  /// Reads robot and description, this one from its YAML text; empty: none.
  Arm(
    const std::string & urdf, const std::string & description, const std::vector<std::string> & joints,
    const ArmOptions & options = {})
  : Arm(urdf, description.empty() ? Field() : Field::parse(description), joints, options) {}

  Eigen::Index size() const noexcept {return static_cast<Eigen::Index>(names_.size());}
  const std::vector<std::string> & joint_names() const noexcept {return names_;}
  const JointLimits & limits() const noexcept {return limits_;}
  /// Fields of the description that this arm ignores or uses differently, by field and joint; to be shown once.
  const std::vector<std::string> & remarks() const noexcept {return remarks_;}
  /// (n) Command per torque: 1, or 1/K_τ [A/(N·m)] for a current.
  const Eigen::VectorXd & command_scale() const noexcept {return command_scale_;}
  /// (n) Constants of each joint: friction, stiffness, ranges of validity.
  const std::vector<Joint> & constants() const noexcept {return joints_;}

  /// State without history: α of the description, T0, undeformed hysteresis.
  ArmState begin() const;
  /// Forgets the hysteresis; α and temperature stay.
  void reset(ArmState & state) const noexcept;

  /// Takes temperatures (n) [°C] and α (n, 2) of the estimator, clipped to their ranges; NaN keeps the last value.
  void adapt(ArmState & state, ConstVector temperature, const Scale & alpha) const noexcept;

  /// Motor torque tau (n) [N·m] of a desired motion q, dq, ddq (n) [rad, rad/s, rad/s²]; advances the hysteresis.
  void motor_torque(ArmState & state, ConstVector q, ConstVector dq, ConstVector ddq, VectorOut tau) const noexcept;
  /// Torque tau (n) [N·m] of the rigid bodies, τ_J = M q̈ + C q̇ + g.
  void link_torque(ConstVector q, ConstVector dq, ConstVector ddq, VectorOut tau) const noexcept;
  /// Gravity torque tau (n) [N·m], whether or not the command holds it.
  void gravity(ConstVector q, VectorOut tau) const noexcept;
  /// Torque tau (n) [N·m] of an acceleration (n) [rad/s²] alone: (M(q) + rotors) a, with coupled rotors.
  void inertia_torque(ConstVector q, ConstVector acceleration, VectorOut tau) const noexcept;
  /// Inertia matrix (n, n) [kg·m²] with rotors.
  void inertia(ConstVector q, Eigen::Ref<Eigen::MatrixXd> matrix) const noexcept;
  /// Friction tau (n) [N·m] of joints and coupled motors at the α of the description, without terms, not scaled.
  /// @param H (n) hysteresis, −1 … 1
  /// @param speed (n) rad/s
  /// @param load (n) τ_J, N·m
  /// @param temperature (n) °C, NaN: T0
  void friction_torque(
    ConstVector H, ConstVector speed, ConstVector load, ConstVector temperature, VectorOut tau) const noexcept;

private:
  void read_joints(const Field & document, const Robot & robot);
  void read_hysteresis(const Robot & robot);
  void read_bodies(const Field & document, const Robot & robot);
  void read_coupling(const Field & document, const Robot & robot);
  Body payload(const Field & document, const Robot & robot);
  Eigen::Vector3d gravity_in_base(const Field & mounting);
  void bound_friction();
  void check_options();
  Eigen::Index index_of(const std::string & joint) const;

  void add_rotors(ConstVector acceleration, VectorOut tau) const noexcept;
  void add_friction(
    const Scale & alpha, ConstVector share, ConstVector H, ConstVector speed, ConstVector load,
    ConstVector temperature, VectorOut tau) const noexcept;

  ArmOptions options_;
  std::vector<std::string> names_;
  std::vector<std::string> described_;  // robot.joint_names
  std::vector<std::string> remarks_;
  JointLimits limits_;
  RigidBody body_;
  std::vector<Joint> joints_;
  std::vector<Term> terms_;
  std::vector<CoupledMotor> motors_;
  Scale scale_;                    // (n, 2) α of the description
  Scale alpha_low_;                // (n, 2) bounds of α
  Scale alpha_high_;               // (n, 2)
  JointVector share_;              // (n) of the friction: `friction_gain`; 0 where friction is none
  Eigen::VectorXd command_scale_;  // (n)
};

}  // namespace joint_dynamics

#endif  // DYNAMICS_MODEL__ARM_HPP_
