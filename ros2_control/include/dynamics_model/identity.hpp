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

#ifndef DYNAMICS_MODEL__IDENTITY_HPP_
#define DYNAMICS_MODEL__IDENTITY_HPP_

#include "dynamics_model/field.hpp"
#include "dynamics_model/robot.hpp"

namespace joint_dynamics
{

/// Refuses a robot other than that of `robot.identity`: other joints, lengths or angles apart by over 2 mm or 2 mrad,
/// or links three times as heavy or light as those of the identification's URDF and as the identified ones.
/// @param identified_mass of all moving links, kg
/// @throws std::runtime_error that names joint and quantity
void check_identity(const Field & identity, const Robot & robot, double identified_mass);

}  // namespace joint_dynamics

#endif  // DYNAMICS_MODEL__IDENTITY_HPP_
