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

// What each field of robot, description and options means for the arm: used, refused, or named in a remark.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <Eigen/Geometry>
#include <Eigen/LU>

#include "dynamics_model/arm.hpp"
#include "dynamics_model/identity.hpp"
#include "dynamics_model/refusal.hpp"

namespace joint_dynamics
{
namespace
{

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr double GRAVITY = 9.81;  // m/s², as pinocchio and URDF tools have it
constexpr double VERSION = 2.0;   // of the description
constexpr double UNKNOWN_STIFFNESS = 1e15;  // N·m/rad: the deformation vanishes against every other quantity
constexpr double SAME_RATIO = 2e-3;  // factors of one coupling, as rounded in the identity of a robot

void check_document(const Field & document)
{
  document.only({"format", "version", "robot", "joints", "inertial", "mounting", "payload", "provenance"});
  if (document.at("format").text() != "joint_dynamics") {
    document["format"].refuse("joint_dynamics");
  }
  if (document.at("version").number() != VERSION) {
    document["version"].refuse("2 (the Python package reads and saves older ones)");
  }
  document.at("robot").only(
    {"joint_names", "name", "urdf", "mdh", "identity", "locked", "parallelograms", "dependent_joints", "coupling"});
  const std::vector<std::string> names = document["robot"].at("joint_names").names();
  const std::vector<std::string> dependent = document["robot"]["dependent_joints"].names();
  std::vector<std::string> links = names;
  links.insert(links.end(), dependent.begin(), dependent.end());
  const Field joints = document.at("joints");
  joints.only(links);
  for (const std::string & name : names) {
    joints.at(name);
  }
  for (const std::string & name : dependent) {
    joints[name].only({"terms"});
  }
  document["inertial"]["standard"].only(links);
}

std::map<std::string, double> numbers_of(const Field & document)
{
  std::map<std::string, double> numbers;
  for (const auto & [name, field] : document.entries()) {
    numbers[name] = field.number();
  }
  return numbers;
}

std::map<std::string, Follows> parallelograms_of(const Field & document)
{
  std::map<std::string, Follows> declared;
  for (const auto & [name, entry] : document.entries()) {
    Follows & follows = declared[name];
    follows.ratios = numbers_of(entry);
    follows.offset = entry["offset"].number_or(0.0);
    follows.ratios.erase("offset");
    if (follows.ratios.empty()) {
      entry.refuse("the joints that it copies with a factor each", "none");
    }
  }
  return declared;
}

Body body_of(const Field & document)
{
  document.only({"XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M"});
  const auto value = [&document](const char * name) {return document.at(name).number();};
  Body body;
  body.tensor << value("XX"), value("XY"), value("XZ"), value("XY"), value("YY"), value("YZ"), value("XZ"),
    value("YZ"), value("ZZ");
  body.first << value("MX"), value("MY"), value("MZ");
  body.mass = value("M");
  return body;
}

/// Refuses a row (n) of `robot.coupling` other than that of its joint in `robot.identity`.
void check_coupling(const Field & identity, const Field & field, const std::vector<double> & row, std::size_t motor)
{
  std::vector<double> stated(row.size(), 0.0);
  stated[motor] = 1.0;
  if (identity["coupling"].present()) {
    stated = identity["coupling"].numbers(row.size());
  }
  for (std::size_t k = 0; k < row.size(); ++k) {
    if (identity.present() && !(std::abs(row[k] / row[motor] - stated[k]) <= SAME_RATIO)) {
      field.refuse("that of robot.identity", "another coupling");
    }
  }
}

Eigen::Matrix3d rotation_of(const std::vector<double> & mounting)
{
  const bool finite = std::all_of(mounting.begin(), mounting.end(), [](double value) {return std::isfinite(value);});
  if (mounting.size() == 3 && finite) {
    return (Eigen::AngleAxisd(mounting[2], Eigen::Vector3d::UnitZ()) *
           Eigen::AngleAxisd(mounting[1], Eigen::Vector3d::UnitY()) *
           Eigen::AngleAxisd(mounting[0], Eigen::Vector3d::UnitX())).toRotationMatrix();
  }
  if (mounting.size() == 4 && finite) {
    const Eigen::Quaterniond turn(mounting[3], mounting[0], mounting[1], mounting[2]);
    if (std::abs(turn.norm() - 1.0) <= 1e-3) {
      return turn.normalized().toRotationMatrix();
    }
  }
  refuse("mounting", "nothing, roll-pitch-yaw (3 numbers) or a unit quaternion x y z w (4)", "others");
}

}  // namespace

Arm::Arm(
  const std::string & urdf, const Field & document, const std::vector<std::string> & joints,
  const ArmOptions & options)
: options_(options)
{
  const Field described = document["robot"];
  if (document.present()) {
    check_document(document);
  }
  if (urdf.empty() && !described["urdf"].present()) {
    (described["mdh"].present() ? described["mdh"] : described["urdf"]).refuse("a URDF of the robot", "none");
  }
  const auto locked = numbers_of(described["locked"]);
  const auto parallelograms = parallelograms_of(described["parallelograms"]);
  described_ = described["joint_names"].names();
  const Robot robot(
    urdf.empty() ? described["urdf"].text() : urdf, joints.empty() ? described_ : joints, locked, parallelograms);
  names_ = !joints.empty() ? joints : document.present() ? described_ : robot.joint_names();
  if (names_.size() != robot.joint_names().size()) {
    refuse("joints", "each joint once", std::to_string(names_.size()) + " names");
  }
  if (document["inertial"].present()) {
    double mass = 0.0;
    for (const auto & [name, link] : document["inertial"].at("standard").entries()) {
      mass += body_of(link).mass;
    }
    if (described["identity"].present()) {
      check_identity(described["identity"], robot, mass);
    } else {
      remarks_.push_back("robot.identity: none, so that only the names of joints are compared");
    }
  }
  read_joints(document, robot);
  read_bodies(document, robot);
  read_coupling(document, robot);
  bound_friction();
  check_options();
  if (options_.friction == FrictionMode::hysteresis) {
    read_hysteresis(robot);
  }
}

Eigen::Index Arm::index_of(const std::string & joint) const
{
  return std::find(names_.begin(), names_.end(), joint) - names_.begin();
}

void Arm::read_joints(const Field & document, const Robot & robot)
{
  const Eigen::Index n = size();
  limits_ = {Eigen::VectorXd(n), Eigen::VectorXd(n), Eigen::VectorXd(n), Eigen::VectorXd(n)};
  scale_.resize(n, 2);
  for (const auto & [name, field] : document["joints"].entries()) {
    if (index_of(name) == n && robot.find(name) == nullptr) {
      Joint(field, remarks_);  // checked like the others
      remarks_.push_back(field.path() + ": not used, the robot moves no such joint");
    }
  }
  bool elastic = false;
  for (Eigen::Index j = 0; j < n; ++j) {
    const std::string & name = names_[static_cast<std::size_t>(j)];
    const TreeJoint & own = *robot.find(name);
    joints_.push_back(document.present() ? Joint(document["joints"].at(name), remarks_) : Joint());
    limits_.lower[j] = own.lower;
    limits_.upper[j] = own.upper;
    limits_.velocity[j] = own.velocity;
    limits_.effort[j] = own.effort;
    scale_.row(j) << joints_.back().scale[0], joints_.back().scale[1];
    elastic = elastic || joints_.back().has_stiffness;
  }
  for (std::size_t j = 0; j < names_.size(); ++j) {
    if (elastic && !joints_[j].has_stiffness) {
      joints_[j].stiffness = TorsionalStiffness(UNKNOWN_STIFFNESS);
      remarks_.push_back("joints." + names_[j] + ".stiffness: none described, assumed rigid");
    }
    const double limit = limits_.effort[static_cast<Eigen::Index>(j)];
    if (!joints_[j].stiffness.holds_up_to(limit)) {
      refuse(
        "joints." + names_[j] + ".stiffness", "a stiffness that stays positive up to the torque limit of " +
        std::to_string(limit) + " N·m", "one that does not");
    }
  }
}

void Arm::read_bodies(const Field & document, const Robot & robot)
{
  const Field inertial = document["inertial"];
  inertial.only({"standard", "base", "coupling", "gravity"});
  const Field source = inertial["gravity"];  // of the masses, where the torques were recorded without gravity
  if (source.present() && source.text() != "robot_file" && source.text() != "none") {
    source.refuse("robot_file or none");
  }
  for (const Field & parameter : inertial["base"].items()) {
    parameter.only({"name", "expression", "value", "std"});
  }
  if (!inertial.present() && !robot.has_inertials()) {
    refuse("robot", "inertials in the URDF, or in a description", "none");
  }
  const Body carried = payload(document["payload"], robot);
  std::vector<Link> links;
  for (const TreeJoint & joint : robot.tree()) {
    links.push_back(joint.link);
    Link & link = links.back();
    if (inertial.present()) {
      link.body = body_of(inertial["standard"].at(joint.name));
    }
    link.follower.offset = joint.follows.offset;
    for (const auto & [leader, ratio] : joint.follows.ratios) {
      const auto k = static_cast<std::size_t>(link.follower.leaders++);
      link.follower.leader[k] = index_of(leader);
      link.follower.ratio[k] = ratio;
    }
    link.body += joint.name == robot.joint_names().back() ? carried : Body();
    const Field terms = document["joints"][joint.name]["terms"];
    for (const Term & term : Term::read(terms, link.follower, joint.independent())) {
      terms_.push_back(term);
    }
  }
  const Eigen::Vector3d gravity = gravity_in_base(document["mounting"]);
  body_ = RigidBody(links, source.present() ? Eigen::Vector3d::Zero() : gravity);
}

Body Arm::payload(const Field & document, const Robot & robot)
{
  const std::string last = robot.joint_names().back();
  const Eigen::Map<const Eigen::Vector3d> center(options_.payload_center.data());
  if (!(options_.payload_mass >= 0.0 && std::isfinite(options_.payload_mass) && center.allFinite())) {
    refuse("payload_mass, payload_center", "a mass of at least 0 kg and three numbers in m", "others");
  }
  Body carried = Body::point(options_.payload_mass, center);
  if (!document.present()) {
    return carried;
  }
  document.only({"mass", "first_moments", "inertia", "std", "attached"});
  document.at("mass").only({"value", "std", "prior", "unit", "method"});
  const std::vector<double> first = document.at("first_moments").numbers(3);
  const std::vector<double> I = document["inertia"].present() ? document["inertia"].numbers(6) : std::vector<double>(6);
  Body described;
  described.tensor << I[0], I[1], I[2], I[1], I[3], I[4], I[2], I[4], I[5];
  described.first << first[0], first[1], first[2];
  described.mass = document["mass"].at("value").number();
  const bool empty = described.tensor.isZero(0.0) && described.first.isZero(0.0) && described.mass == 0.0;
  if (empty) {
    return carried;
  }
  if (!document["attached"].truth_or(true)) {
    remarks_.push_back("payload: described, but not attached");
    return carried;
  }
  if (described_.back() != last) {
    document.refuse(described_.back() + " as the last joint, which carries it", last);
  }
  return carried += described;
}

Eigen::Vector3d Arm::gravity_in_base(const Field & mounting)
{
  Eigen::Matrix3d rotation = Eigen::Matrix3d::Identity();
  if (mounting.present()) {
    const std::vector<Field> rows = mounting.items();
    for (std::size_t i = 0; i < 3 && rows.size() == 3; ++i) {
      const std::vector<double> row = rows[i].numbers(3);
      rotation.row(static_cast<Eigen::Index>(i)) << row[0], row[1], row[2];
    }
    const double skewed = (rotation * rotation.transpose() - Eigen::Matrix3d::Identity()).cwiseAbs().maxCoeff();
    if (rows.size() != 3 || !(skewed <= 1e-6 && rotation.determinant() > 0.0)) {
      mounting.refuse("a rotation matrix, 3 by 3", "another one");
    }
  }
  if (!options_.mounting.empty()) {
    const Eigen::Matrix3d given = rotation_of(options_.mounting);
    if (mounting.present() && !given.isApprox(rotation, 1e-9)) {
      remarks_.push_back("mounting: not used, the parameter mounting states another one");
    }
    rotation = given;
  }
  return rotation.transpose() * Eigen::Vector3d(0.0, 0.0, -GRAVITY);
}

/// Motors of `robot.coupling`, and passive joints that follow several others, whose friction is that of such motors.
void Arm::read_coupling(const Field & document, const Robot & robot)
{
  const Field coupling = document["robot"]["coupling"];
  const std::vector<Field> rows = coupling.items();
  std::map<std::string, double> given = numbers_of(document["inertial"]["coupling"]);
  const auto n = static_cast<std::size_t>(size());
  if (coupling.present() && (rows.size() != n || described_.size() != n)) {
    coupling.refuse("as many rows as there are joints", std::to_string(rows.size()));
  }
  const auto take = [&](const JointVector & ratios, std::size_t number) {
      if ((ratios.array() != 0.0).count() > 1) {
        const auto value = [&given, number](const char * kind) {
            const auto found = given.extract(kind + std::to_string(number + 1));
            return found.empty() ? 0.0 : found.mapped();
          };
        motors_.push_back({ratios, value("Ia_m"), value("Fv_m"), value("Fs_m")});
      }
    };
  Eigen::MatrixXd matrix(rows.size(), n);
  for (std::size_t m = 0; m < rows.size(); ++m) {
    const std::vector<double> row = rows[m].numbers(n);
    JointVector ratios(size());
    for (std::size_t k = 0; k < n; ++k) {
      ratios[index_of(described_[k])] = row[k] / row[m];
      matrix(static_cast<Eigen::Index>(m), static_cast<Eigen::Index>(k)) = row[k];
    }
    if (!ratios.allFinite()) {
      rows[m].refuse("a factor other than 0 on the diagonal", "0");
    }
    check_coupling(document["robot"]["identity"]["joints"][described_[m]], rows[m], row, m);
    take(ratios, m);
  }
  if (!rows.empty() && !(std::abs(matrix.determinant()) >= 1e-12)) {
    coupling.refuse("a regular matrix", "a singular one");
  }
  std::size_t passive = n;
  for (const TreeJoint & joint : robot.tree()) {
    if (joint.follows.ratios.size() > 1) {
      JointVector ratios = JointVector::Zero(size());
      for (const auto & [leader, ratio] : joint.follows.ratios) {
        ratios[index_of(leader)] = ratio;
      }
      take(ratios, passive++);
    }
  }
  if (!given.empty()) {
    document["inertial"]["coupling"][given.begin()->first].refuse("a coupled motor of robot.coupling", "another one");
  }
}

/// Friction and its terms stay within the range of validity, where they depend on load and temperature, and within the
/// torque limit: load beyond what a joint is built for is a defect of the motion.
void Arm::bound_friction()
{
  for (std::size_t j = 0; j < names_.size(); ++j) {
    Joint & joint = joints_[j];
    bool loaded = joint.friction.depends_on_load(), warm = joint.friction.depends_on_temperature();
    for (const Term & term : terms_) {
      if (term.is_friction() && term.joint() == static_cast<Eigen::Index>(j)) {
        loaded = loaded || term.depends_on_load();
        warm = warm || term.depends_on_temperature();
      }
    }
    Validity & range = joint.validity;
    range.load = loaded ? range.load : INF;
    range.coldest = warm ? range.coldest : -INF;
    range.warmest = warm ? range.warmest : INF;
    joint.friction.speed_limit = range.speed;
    joint.friction.load_limit = range.load;
    joint.friction.bound(range.load, range.coldest, range.warmest);
    joint.friction.bound(limits_.effort[static_cast<Eigen::Index>(j)], -INF, INF);
    for (Term & term : terms_) {
      if (term.is_friction() && term.joint() == static_cast<Eigen::Index>(j)) {
        term.bound(range);
      }
    }
  }
}

void Arm::check_options()
{
  const Eigen::Index n = size();
  const bool described = std::any_of(joints_.begin(), joints_.end(), [](const Joint & j) {return j.has_friction;});
  if (options_.friction != FrictionMode::none && !described) {
    refuse("friction", "a friction model in the description", "none");
  }
  const std::vector<double> gain = options_.friction_gain.empty() ? std::vector<double>(names_.size(), 1.0) :
    options_.friction_gain;
  const auto is_share = [](double share) {return share >= 0.0 && share <= 1.5;};
  if (gain.size() != names_.size() || !std::all_of(gain.begin(), gain.end(), is_share)) {
    refuse("friction_gain", "a number from 0 to 1.5 of each joint", "others");
  }
  share_ = Eigen::Map<const Eigen::VectorXd>(gain.data(), n) * (options_.friction != FrictionMode::none);
  if (!(options_.rest_gain >= 0.0 && options_.rest_gain <= 1.0 && options_.friction_smoothing >= 0.0 &&
    options_.friction_smoothing <= 1.0 && options_.viscous_share >= 0.0 && options_.viscous_share <= 10.0))
  {
    refuse("rest_gain, friction_smoothing, viscous_share", "numbers from 0 to 1, 1 and 10", "others");
  }
  alpha_low_.resize(n, 2);
  alpha_high_.resize(n, 2);
  command_scale_.setOnes(n);
  const auto & [low, high] = std::tie(options_.alpha_lower, options_.alpha_upper);
  if (!(low[0] <= high[0] && low[1] <= high[1])) {
    refuse("alpha_lower, alpha_upper", "lower bounds below the upper ones", "others");
  }
  for (Eigen::Index j = 0; j < n; ++j) {
    const auto index = static_cast<std::size_t>(j);
    const Joint & joint = joints_[index];
    // the paper's ±0.05 N·m·s/rad is half a percent of the viscous friction of a shoulder
    const bool free = described && low[1] < high[1];
    const double viscous = free ? options_.viscous_share * std::abs(joint.friction.viscous(1.0)) : 0.0;
    alpha_low_.row(j) << low[0], free ? std::min(low[1], -viscous) : low[1];
    alpha_high_.row(j) << high[0], free ? std::max(high[1], viscous) : high[1];
    if (options_.current) {
      if (!std::isfinite(joint.drive_gain)) {
        refuse("output", "a drive gain of every joint for a command in A", "none of " + names_[index]);
      }
      command_scale_[j] = 1.0 / joint.drive_gain;
    }
  }
}

/// Every joint gets a way to reverse: those without hysteresis would follow the sign of the speed, which at standstill
/// jumps by twice the friction at the slightest motion of the elastic transmission (Python: `arm.with_reversal`).
void Arm::read_hysteresis(const Robot & robot)
{
  const MaxwellSlip * first = nullptr;
  for (const std::string & name : robot.joint_names()) {
    const auto & slip = joints_[static_cast<std::size_t>(index_of(name))].slip;
    first = first == nullptr && slip ? &*slip : first;
  }
  const MaxwellSlip other = first == nullptr ? MaxwellSlip() : first->at_once();
  bool turns = false;
  for (std::size_t j = 0; j < names_.size(); ++j) {
    Joint & joint = joints_[j];
    if (!joint.slip) {
      joint.slip = other;
      if (joint.has_friction) {
        remarks_.push_back("joints." + names_[j] + ".friction: no hysteresis described, it reverses within 0.1 mrad");
      }
    }
    if (joint.slip->operators() != other.operators()) {
      refuse("joints." + names_[j] + ".friction.maxwell_slip", "as many operators as the other joints have", "others");
    }
    turns = turns || (joint.has_friction && joint.slip->reverses_at_once());
  }
  for (Joint & joint : joints_) {
    joint.slip = turns ? joint.slip->with_reversal() : *joint.slip;
  }
}

}  // namespace joint_dynamics
