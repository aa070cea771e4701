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

#ifndef JOINT_DYNAMICS_CONTROLLERS__LAW_HOST_HPP_
#define JOINT_DYNAMICS_CONTROLLERS__LAW_HOST_HPP_

#include <time.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace joint_dynamics_controllers
{
/// A parameter as ROS has it; without ROS, so that the host can be compiled and tried alone.
using Value = std::variant<
  bool, std::int64_t, double, std::string, std::vector<bool>, std::vector<std::int64_t>,
  std::vector<double>, std::vector<std::string>>;
using Values = std::map<std::string, Value>;

/// A parameter that the law has beyond those that generate_parameter_library declares.
struct Declaration
{
  std::string name;
  Value default_value;
  std::string description;
  bool per_joint;
};

/// What a step has come to: joint_dynamics.control.hosted_loop.Outcome, and LATE: not done in time.
enum class Outcome : std::int8_t { CLOSED = 0, LAW = 1, SAFE = 2, FAILED = 3, LATE = 4 };

/// Rows of the array of states, joint_dynamics.control.interface.STATES.
enum StateRow : std::size_t
{
  POSITION,
  VELOCITY,
  EFFORT,
  TEMPERATURE,
  MOTOR_POSITION,
  MOTOR_VELOCITY,
  TORQUE,
  FRICTION_SCALE,
  VISCOUS_EXCESS,
  STATE_ROWS
};
/// Rows of the array of references.
constexpr std::size_t REFERENCE_ROWS = 4;

/// The arrays of a HostedLoop where Python has them: see there for shapes and units.
struct Arrays
{
  double * clock = nullptr;
  double * state = nullptr;
  double * state_time = nullptr;
  double * reference = nullptr;
  double * reference_time = nullptr;
  const double * command = nullptr;
  const double * safe = nullptr;
  double * left = nullptr;
  std::size_t joints = 0;
};

struct HostSettings
{
  /// Interpreter whose packages are used; empty: that of $VIRTUAL_ENV, else python3 of the path.
  std::string python;
  /// SCHED_FIFO; 0: not real-time.
  int priority = 0;
  /// -1: any.
  int cpu = -1;
};

/// A joint_dynamics law: compiled, or in an embedded interpreter, in a thread of its own.
/**
 * One thread runs everything that is Python. `configure` and `to_declare` wait for it without a
 * bound and throw std::runtime_error with Python's reason; they are not for the real-time thread.
 * `ready`, `step`, `activate` and `deactivate` are: they allocate nothing, take no lock, and wait
 * on one semaphore for as long as they are told at most. All calls come from one thread at a time.
 *
 * The interpreter is one for the process and is never ended: numpy does not come up twice.
 */
class LawHost
{
public:
  explicit LawHost(const HostSettings & settings);
  ~LawHost();
  LawHost(const LawHost &) = delete;
  LawHost & operator=(const LawHost &) = delete;

  std::vector<Declaration> to_declare(const std::string & law);

  /// Build the loop; return what is worth saying once.
  std::vector<std::string> configure(
    const std::string & robot, const std::string & description, const Values & values);

  /// Open the gate; false when the law refuses or that takes longer than `timeout`, see `reason`.
  /**
   * With `state` and `left` as they are in the arrays, where those may be written (`ready`); `command`
   * and `safe` are what to begin with.
   */
  bool activate(std::chrono::nanoseconds timeout);

  /// Close the gate; false when that takes longer than `timeout`.
  bool deactivate(std::chrono::nanoseconds timeout);

  /// Whether no step is under way: the arrays may be written, and the next one begun.
  bool ready();

  /// Make a step. A shipped law is compiled: its step is a call in this thread.
  /** Another is begun in the thread of the interpreter and waited for; LATE after `timeout`: it goes on, and the
   * arrays belong to it.
   */
  Outcome step(std::chrono::nanoseconds timeout);

  const Arrays & arrays() const { return arrays_; }

  /// Whether steps are calls of the compiled law, and the interpreter sleeps meanwhile.
  bool compiled() const;

  /// Why the command does not follow the law, or what input is missing; not for the real-time thread.
  std::string reason() const;

  /// Whether the thread runs with the priority and on the processor that were asked for.
  bool scheduled() const;

private:
  struct Shared;
  enum class Task { JOB, ACTIVATE, DEACTIVATE, STEP, QUIT };

  explicit LawHost(std::shared_ptr<Shared> shared);

  static void work(std::shared_ptr<Shared> shared);
  static void serve(Shared & shared);
  template <typename Job>
  void run(Job && job);
  void post(Task task);
  bool wait(const timespec & end);

  std::shared_ptr<Shared> shared_;
  Arrays arrays_;
  bool busy_ = false;
};

}  // namespace joint_dynamics_controllers

#endif  // JOINT_DYNAMICS_CONTROLLERS__LAW_HOST_HPP_
