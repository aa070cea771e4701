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
#ifndef JOINT_DYNAMICS_CONTROLLERS__PYTHON_HPP_
#define JOINT_DYNAMICS_CONTROLLERS__PYTHON_HPP_

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "joint_dynamics_controllers/law_host.hpp"

namespace joint_dynamics_controllers::python
{
/// An owned reference; whoever lets go of one holds the interpreter's lock.
class Object
{
public:
  Object() = default;
  explicit Object(PyObject * owned) : object_(owned) {}
  Object(Object && other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Object & operator=(Object && other) noexcept
  {
    std::swap(object_, other.object_);
    return *this;
  }
  Object(const Object &) = delete;
  Object & operator=(const Object &) = delete;
  ~Object() { Py_XDECREF(object_); }

  PyObject * get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

private:
  PyObject * object_ = nullptr;
};

/// Start the interpreter of the process, if nothing has; the lock is free afterwards.
void start(const std::string & python);

/// Return what Python raised, in one line, and clear it.
std::string error();

/// Return `result`; throw std::runtime_error with what Python raised where there is none.
Object check(PyObject * result);

Object call(const char * module, const char * name, PyObject * arguments);
Object from_value(const Value & value);
Object from_values(const Values & values);
Value to_value(PyObject * object);
std::string to_string(PyObject * text);

}  // namespace joint_dynamics_controllers::python

#endif  // JOINT_DYNAMICS_CONTROLLERS__PYTHON_HPP_
