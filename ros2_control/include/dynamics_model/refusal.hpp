// Copyright 2026 The joint_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#ifndef DYNAMICS_MODEL__REFUSAL_HPP_
#define DYNAMICS_MODEL__REFUSAL_HPP_

#include <stdexcept>
#include <string>

namespace joint_dynamics
{

/// Throws std::runtime_error "WHERE: expected …, found …".
[[noreturn]] inline void refuse(const std::string & where, const std::string & expected, const std::string & found)
{
  throw std::runtime_error(where + ": expected " + expected + ", found " + found);
}

}  // namespace joint_dynamics

#endif  // DYNAMICS_MODEL__REFUSAL_HPP_
