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
#include "joint_dynamics_controllers/law_host.hpp"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "python.hpp"

namespace joint_dynamics_controllers
{
namespace
{
/// How long the end of a host waits for a step that hangs, before it leaves the thread behind.
constexpr std::chrono::seconds PATIENCE{2};
/// Steps after which the reason is looked at, though the outcome is the same.
constexpr unsigned REASON_STEPS = 256;
constexpr std::size_t ARRAYS = 8;
/// Numbers of the array `code`: where one changes, the reason does.
constexpr std::size_t CODES = 5;
/// The compiled step of a shipped law: no interpreter, no lock, no allocation in it.
using Entry = std::int64_t (*)(void *);
const char * const ARRAY_NAMES[ARRAYS] = {
  "clock", "state", "state_time", "reference", "reference_time", "command", "safe", "left"};

bool schedule(int priority, int cpu)
{
  sched_param parameters{};
  parameters.sched_priority = priority;
  const int policy = priority > 0 ? SCHED_FIFO : SCHED_OTHER;
  bool done = pthread_setschedparam(pthread_self(), policy, &parameters) == 0;
  if (cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    done = pthread_setaffinity_np(pthread_self(), sizeof(set), &set) == 0 && done;
  }
  return done;
}

/// Wait for as long as it takes; a signal does not end the wait.
void await(sem_t & semaphore)
{
  while (sem_wait(&semaphore) != 0) {
  }
}

timespec deadline(std::chrono::nanoseconds timeout)
{
  timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  const auto total = std::chrono::nanoseconds(end.tv_nsec) + timeout;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(total);
  end.tv_sec += static_cast<time_t>(seconds.count());
  end.tv_nsec = static_cast<decltype(end.tv_nsec)>((total - seconds).count());
  return end;
}
}  // namespace

/// What the host and its thread have in common; the thread of a law that hangs outlives the host.
struct LawHost::Shared
{
  explicit Shared(const HostSettings & given) : settings(given)
  {
    sem_init(&begin, 0, 0);
    sem_init(&done, 0, 0);
  }
  ~Shared()
  {
    sem_destroy(&begin);
    sem_destroy(&done);
  }

  HostSettings settings;
  std::thread thread;
  sem_t begin;
  sem_t done;

  // Of the host before `begin`, of the thread until `done`.
  Task task = Task::JOB;
  std::function<void()> job;
  std::string error;
  Outcome outcome = Outcome::CLOSED;

  // Of the thread.
  python::Object loop;
  python::Object step;
  Py_buffer views[ARRAYS] = {};
  unsigned steps = 0;

  // Of a shipped law; else there is none, and the thread steps.
  Entry entry = nullptr;
  void * table = nullptr;
  Py_buffer codes = {};
  std::array<std::int64_t, CODES> reported{};

  std::atomic<bool> scheduled{true};
  mutable std::mutex reason_mutex;
  std::string reason;

  void release()
  {
    for (auto & view : views) {
      PyBuffer_Release(&view);
    }
    PyBuffer_Release(&codes);
    entry = nullptr;
    step = python::Object();
    loop = python::Object();
  }

  void tell(std::string text) noexcept
  {
    const std::lock_guard<std::mutex> lock(reason_mutex);
    reason = std::move(text);
  }

  /// Take over why the law is not followed; whoever reads it at the moment is not waited for.
  void look()
  {
    const std::unique_lock<std::mutex> lock(reason_mutex, std::try_to_lock);
    if (!lock.owns_lock()) {
      return;
    }
    reason.clear();
    for (const char * name : {"reason", "warning"}) {
      const python::Object text(PyObject_GetAttrString(loop.get(), name));
      if (!text) {
        PyErr_Clear();
      } else if (reason.empty()) {
        reason = python::to_string(text.get());
      }
    }
  }

  void map(Arrays & arrays)
  {
    double * data[ARRAYS] = {};
    for (std::size_t k = 0; k < ARRAYS; ++k) {
      const python::Object array = python::check(PyObject_GetAttrString(loop.get(), ARRAY_NAMES[k]));
      if (PyObject_GetBuffer(array.get(), &views[k], PyBUF_CONTIG) != 0) {
        throw std::runtime_error(python::error());
      }
      data[k] = static_cast<double *>(views[k].buf);
    }
    const auto size = [this](std::size_t k) {
      return static_cast<std::size_t>(views[k].len) / sizeof(double);
    };
    const std::size_t n = size(5);
    if (size(1) != STATE_ROWS * n || size(3) != REFERENCE_ROWS * n || size(2) != STATE_ROWS ||
      size(4) != 2 || size(7) != n) {
      throw std::runtime_error(
        "joint_dynamics: expected the version of this package, found one with other arrays");
    }
    arrays = {data[0], data[1], data[2], data[3], data[4], data[5], data[6], data[7], n};
  }

  /// Take over the compiled step, where the law has one.
  void take_entry()
  {
    const auto address = [this](const char * name) {
      const python::Object value = python::check(PyObject_GetAttrString(loop.get(), name));
      return PyLong_AsVoidPtr(value.get());
    };
    const python::Object array = python::check(PyObject_GetAttrString(loop.get(), "code"));
    if (PyObject_GetBuffer(array.get(), &codes, PyBUF_CONTIG) != 0) {
      throw std::runtime_error(python::error());
    }
    if (static_cast<std::size_t>(codes.len) != CODES * sizeof(std::int64_t)) {
      throw std::runtime_error(
        "joint_dynamics: expected the version of this package, found one with other codes");
    }
    table = address("table");
    entry = reinterpret_cast<Entry>(address("entry"));
    reported.fill(-1);
  }

  /// Look at the reason where the compiled step has another one; from a thread that may wait.
  void look_at_code()
  {
    std::array<std::int64_t, CODES> now;
    std::copy_n(static_cast<const std::int64_t *>(codes.buf), CODES, now.begin());
    if (now == reported) {
      return;
    }
    const PyGILState_STATE lock = PyGILState_Ensure();
    look();
    PyGILState_Release(lock);
    reported = now;
  }

  /// Call a method of the loop; say what it raised.
  bool call(const char * name)
  {
    const python::Object result(PyObject_CallMethod(loop.get(), name, nullptr));
    if (!result) {
      tell(python::error());
      if (entry != nullptr) {
        // Until the compiled step has something else to say.
        std::copy_n(static_cast<const std::int64_t *>(codes.buf), CODES, reported.begin());
      }
    }
    return static_cast<bool>(result);
  }

  void perform()
  {
    switch (task) {
      case Task::JOB:
        job();
        break;
      case Task::ACTIVATE:
        outcome = call("activate") ? Outcome::SAFE : Outcome::FAILED;
        break;
      case Task::DEACTIVATE:
        call("deactivate");
        outcome = Outcome::CLOSED;
        break;
      case Task::STEP:
        make_step();
        break;
      case Task::QUIT:
        break;
    }
  }

  void make_step()
  {
    const python::Object result(PyObject_CallNoArgs(step.get()));
    if (!result) {
      outcome = Outcome::FAILED;
      tell(python::error());
      return;
    }
    const auto before = outcome;
    const long code = PyLong_AsLong(result.get());  // NOLINT(runtime/int): of Python
    outcome = static_cast<Outcome>(code);
    if (outcome != before || ++steps % REASON_STEPS == 0) {
      look();
    }
  }
};

LawHost::LawHost(std::shared_ptr<Shared> shared) : shared_(std::move(shared))
{
  shared_->thread = std::thread(&LawHost::work, shared_);
}

// Delegates: where the start fails, the destructor ends the thread.
LawHost::LawHost(const HostSettings & settings) : LawHost(std::make_shared<Shared>(settings))
{
  run([] {});
}

LawHost::~LawHost()
{
  const timespec end = deadline(PATIENCE);
  if (ready() || wait(end)) {
    post(Task::QUIT);
    if (wait(end)) {
      shared_->thread.join();
      return;
    }
  }
  // It hangs in somebody's law, its own or another's that has the interpreter: there is no way to
  // end it but with the process.
  shared_->thread.detach();
}

void LawHost::work(std::shared_ptr<Shared> shared)
{
  await(shared->begin);
  try {
    python::start(shared->settings.python);
  } catch (const std::exception & error) {
    shared->error = error.what();
  }
  if (shared->error.empty()) {
    const PyGILState_STATE lock = PyGILState_Ensure();
    serve(*shared);
    shared->release();
    PyGILState_Release(lock);
  } else {
    sem_post(&shared->done);
    await(shared->begin);
  }
  sem_post(&shared->done);
}

void LawHost::serve(Shared & shared)
{
  for (bool first = true;; first = false) {
    if (!first) {
      PyThreadState * const state = PyEval_SaveThread();
      await(shared.begin);
      PyEval_RestoreThread(state);
    }
    const Task task = shared.task;
    if (task == Task::QUIT) {
      return;
    }
    try {
      shared.perform();
    } catch (const std::exception & error) {
      // This thread is the controller manager's: what it cannot do is a failure, not its end.
      shared.outcome = Outcome::FAILED;
      if (task == Task::JOB) {
        shared.error = error.what();
      } else {
        shared.tell(error.what());
      }
    }
    sem_post(&shared.done);
  }
}

template <typename Job>
void LawHost::run(Job && job)
{
  if (busy_) {
    await(shared_->done);
  }
  shared_->job = std::forward<Job>(job);
  shared_->error.clear();
  post(Task::JOB);
  await(shared_->done);
  busy_ = false;
  shared_->job = nullptr;
  if (!shared_->error.empty()) {
    throw std::runtime_error(shared_->error);
  }
}

void LawHost::post(Task task)
{
  shared_->task = task;
  busy_ = true;
  sem_post(&shared_->begin);
}

bool LawHost::wait(const timespec & end)
{
  int failed = sem_clockwait(&shared_->done, CLOCK_MONOTONIC, &end);
  while (failed != 0 && errno == EINTR) {
    failed = sem_clockwait(&shared_->done, CLOCK_MONOTONIC, &end);
  }
  busy_ = failed != 0;
  return !busy_;
}

bool LawHost::ready()
{
  if (busy_ && sem_trywait(&shared_->done) == 0) {
    busy_ = false;
  }
  return !busy_;
}

std::vector<Declaration> LawHost::to_declare(const std::string & law)
{
  std::vector<Declaration> declarations;
  run([&] {
    const python::Object rows = python::call(
      "joint_dynamics.control.hosted_parameters", "to_declare", Py_BuildValue("(s)", law.c_str()));
    for (Py_ssize_t k = 0; k < PyList_Size(rows.get()); ++k) {
      PyObject * const row = PyList_GetItem(rows.get(), k);
      declarations.push_back(
        {python::to_string(PyTuple_GetItem(row, 0)), python::to_value(PyTuple_GetItem(row, 1)),
         python::to_string(PyTuple_GetItem(row, 2)), PyTuple_GetItem(row, 3) == Py_True});
    }
  });
  return declarations;
}

std::vector<std::string> LawHost::configure(
  const std::string & robot, const std::string & description, const Values & values)
{
  std::vector<std::string> remarks;
  run([&] {
    Shared & shared = *shared_;
    // Seconds of work: not at the priority of the loop.
    schedule(0, -1);
    shared.release();
    const python::Object given = python::from_values(values);
    shared.loop = python::call(
      "joint_dynamics.control.hosted_loop", "HostedLoop",
      Py_BuildValue("(ssO)", robot.c_str(), description.c_str(), given.get()));
    shared.step = python::check(PyObject_GetAttrString(shared.loop.get(), "step"));
    shared.map(arrays_);
    shared.take_entry();
    const python::Object said = python::check(PyObject_GetAttrString(shared.loop.get(), "remarks"));
    for (Py_ssize_t k = 0; k < PyTuple_Size(said.get()); ++k) {
      remarks.push_back(python::to_string(PyTuple_GetItem(said.get(), k)));
    }
    shared.scheduled = schedule(shared.settings.priority, shared.settings.cpu);
  });
  return remarks;
}

bool LawHost::activate(std::chrono::nanoseconds timeout)
{
  const timespec end = deadline(timeout);
  if (!ready() && !wait(end)) {
    return false;
  }
  post(Task::ACTIVATE);
  return wait(end) && shared_->outcome == Outcome::SAFE;
}

bool LawHost::deactivate(std::chrono::nanoseconds timeout)
{
  const timespec end = deadline(timeout);
  if (!ready() && !wait(end)) {
    return false;
  }
  post(Task::DEACTIVATE);
  return wait(end);
}

Outcome LawHost::step(std::chrono::nanoseconds timeout)
{
  if (!ready()) {
    return Outcome::LATE;
  }
  if (shared_->entry != nullptr) {
    return static_cast<Outcome>(shared_->entry(shared_->table));
  }
  post(Task::STEP);
  return wait(deadline(timeout)) ? shared_->outcome : Outcome::LATE;
}

bool LawHost::compiled() const { return shared_->entry != nullptr; }

std::string LawHost::reason() const
{
  if (shared_->entry != nullptr) {
    shared_->look_at_code();
  }
  const std::lock_guard<std::mutex> lock(shared_->reason_mutex);
  return shared_->reason;
}

bool LawHost::scheduled() const { return shared_->scheduled; }

}  // namespace joint_dynamics_controllers
