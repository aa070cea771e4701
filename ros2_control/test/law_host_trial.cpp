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
// The law in its host without ROS: plays a motion from a file, writes every command, counts what the
// calling thread allocates, and measures. Built and run by test/ros2_control/test_law_host.py.
//
//     law_host_trial FOLDER [--rate HZ] [--repeat N] [--step-timeout S]
//         [--late-timeout S] [--priority P] [--beside LAW]
//
// FOLDER holds robot.urdf, description.yaml, parameters.txt (a line each: name, type, value) and
// motion.bin (a row per step: period, position, velocity, three references, effort, α1, α2,
// temperature; slow ones NaN where there is nothing new). begin.bin, where it is there, holds what
// the host is activated with: position, effort, command left by another. commands.bin gets a row per
// step: phase, outcome, command. LAW is that of another arm in a host of its own. The answer on stdout
// is JSON. Every other wait for a semaphore is interrupted, and nobody gets 64 MB.

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "joint_dynamics_controllers/guarded_law.hpp"

using joint_dynamics_controllers::GuardedLaw;
using joint_dynamics_controllers::HostSettings;
using joint_dynamics_controllers::LawHost;
using joint_dynamics_controllers::Value;
using joint_dynamics_controllers::Values;
namespace rows = joint_dynamics_controllers;

namespace
{
thread_local bool watched = false;
std::atomic<std::size_t> allocations{0};
constexpr std::size_t COLUMNS = 9;
constexpr std::size_t TOO_MUCH = std::size_t{1} << 26;
thread_local std::set<std::pair<time_t, std::int64_t>> * deadlines = nullptr;
}  // namespace

extern "C" void * __libc_malloc(std::size_t size);
extern "C" void * malloc(std::size_t size)
{
  if (watched) {
    ++allocations;
  }
  return __libc_malloc(size);
}

[[gnu::noinline]] void * operator new(std::size_t size)
{
  void * const found = size < TOO_MUCH ? malloc(size) : nullptr;
  if (found == nullptr) {
    throw std::bad_alloc();
  }
  return found;
}
[[gnu::noinline]] void operator delete(void * memory) noexcept { free(memory); }
[[gnu::noinline]] void operator delete(void * memory, std::size_t /*size*/) noexcept { free(memory); }

extern "C" int sem_wait(sem_t * semaphore)
{
  static const auto real = reinterpret_cast<int (*)(sem_t *)>(dlsym(RTLD_NEXT, "sem_wait"));
  thread_local bool interrupted = false;
  interrupted = !interrupted;
  if (interrupted) {
    errno = EINTR;
    return -1;
  }
  return real(semaphore);
}

extern "C" int sem_clockwait(sem_t * semaphore, clockid_t clock, const timespec * end)
{
  using Wait = int (*)(sem_t *, clockid_t, const timespec *);
  static const auto real = reinterpret_cast<Wait>(dlsym(RTLD_NEXT, "sem_clockwait"));
  if (deadlines != nullptr) {
    deadlines->insert({end->tv_sec, end->tv_nsec});
  }
  return real(semaphore, clock, end);
}

namespace
{
std::size_t threads()
{
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

std::string read(const std::string & path)
{
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Values parameters(const std::string & path)
{
  Values found;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, type, text;
    std::getline(words, name, '\t');
    std::getline(words, type, '\t');
    std::getline(words, text);
    if (type == "bool") {
      found[name] = text == "true";
    } else if (type == "int") {
      found[name] = static_cast<std::int64_t>(std::stoll(text));
    } else if (type == "double") {
      found[name] = std::stod(text);
    } else if (type == "string") {
      found[name] = text;
    } else {
      std::vector<std::string> items;
      std::istringstream list(text);
      for (std::string item; std::getline(list, item, ',');) {
        items.push_back(item);
      }
      found[name] = items;
    }
  }
  return found;
}

double seconds(clockid_t clock)
{
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::string statistics(std::vector<double> & values)
{
  if (values.empty()) {
    return "null";
  }
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return 1e6 * values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
  };
  std::ostringstream text;
  text << "{\"median\": " << at(0.5) << ", \"p99\": " << at(0.99) << ", \"p999\": " << at(0.999)
       << ", \"worst\": " << at(1.0) << "}";
  return text.str();
}

double option(int count, char ** words, const std::string & name, double otherwise)
{
  for (int k = 2; k + 1 < count; ++k) {
    if (words[k] == name) {
      return std::stod(words[k + 1]);
    }
  }
  return otherwise;
}

int play(int count, char ** words)
{
  const std::string folder = words[1];
  const double rate = option(count, words, "--rate", 0.0);
  const auto repeat = static_cast<std::size_t>(option(count, words, "--repeat", 1.0));
  const Values given = parameters(folder + "/parameters.txt");
  HostSettings settings;
  settings.priority = static_cast<int>(option(count, words, "--priority", 0.0));
  LawHost host(settings);
  std::unique_ptr<LawHost> beside;
  for (int k = 2; k + 1 < count; ++k) {
    if (words[k] == std::string("--beside")) {
      Values other = given;
      other["law"] = std::string(words[k + 1]);
      beside = std::make_unique<LawHost>(settings);
      beside->configure(read(folder + "/robot.urdf"), read(folder + "/description.yaml"), other);
    }
  }
  if (settings.priority > 0) {
    // As the controller manager's loop runs.
    sched_param parameters{};
    parameters.sched_priority = settings.priority;
    if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters) != 0) {
      std::cerr << "--priority: not permitted\n";
    }
  }
  const auto declared = host.to_declare(std::get<std::string>(given.at("law")));
  const auto remarks =
    host.configure(read(folder + "/robot.urdf"), read(folder + "/description.yaml"), given);
  const std::string bytes = read(folder + "/motion.bin");
  std::vector<double> motion(bytes.size() / sizeof(double));
  std::copy_n(bytes.data(), motion.size() * sizeof(double), reinterpret_cast<char *>(motion.data()));
  const rows::Arrays & arrays = host.arrays();
  const std::size_t n = arrays.joints, width = 1 + COLUMNS * n, steps = motion.size() / width;
  std::vector<double> out, wall, cpu;
  out.reserve(steps * (n + 2));
  wall.reserve(steps * repeat);
  cpu.reserve(steps * repeat);

  const std::string first = read(folder + "/begin.bin");
  if (first.size() == 3 * n * sizeof(double)) {
    const auto take = [&](double * to, std::size_t row) {
      const std::size_t size = n * sizeof(double);
      std::copy_n(first.data() + row * size, size, reinterpret_cast<char *>(to));
    };
    take(arrays.state + rows::POSITION * n, 0);
    take(arrays.state + rows::EFFORT * n, 1);
    take(arrays.left, 2);
  }
  if (!host.activate(std::chrono::seconds(1))) {
    throw std::runtime_error("activate: " + host.reason());
  }
  GuardedLaw::Times times;
  times.step_timeout = std::chrono::nanoseconds(
    static_cast<std::int64_t>(1e9 * option(count, words, "--step-timeout", 10.0)));
  times.late_timeout = option(count, words, "--late-timeout", 0.02);
  times.ramp_time = std::get<double>(given.at("ramp_time"));
  GuardedLaw law;
  law.reset(host, times);
  double time = 0.0;
  bool good = true;
  std::size_t refused = 0;
  timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  for (std::size_t k = 0; k < steps * repeat; ++k) {
    const double * row = &motion[(k % steps) * width];
    const double period = row[0];
    // The clock of a manager may stand or go back; what it says of the period is another matter.
    time += std::abs(period) < 1.0 ? period : 0.0;
    if (rate > 0.0) {
      next.tv_nsec += static_cast<decltype(next.tv_nsec)>(1e9 / rate);
      if (next.tv_nsec >= 1'000'000'000) {
        next.tv_nsec -= 1'000'000'000;
        ++next.tv_sec;
      }
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, nullptr);
    }
    const double began = seconds(CLOCK_MONOTONIC), worked = seconds(CLOCK_PROCESS_CPUTIME_ID);
    watched = true;
    if (law.takes_input()) {
      arrays.clock[0] = time;
      arrays.clock[1] = period;
      std::copy_n(row + 1, 2 * n, arrays.state);
      arrays.state_time[rows::POSITION] = arrays.state_time[rows::VELOCITY] = time;
      std::copy_n(row + 1 + 2 * n, rows::REFERENCE_ROWS * n, arrays.reference);
      arrays.reference_time[0] = arrays.reference_time[1] = time;
      const std::size_t slow[] = {rows::FRICTION_SCALE, rows::VISCOUS_EXCESS, rows::TEMPERATURE};
      for (std::size_t i = 0; i < 3; ++i) {
        const double * values = row + 1 + (6 + i) * n;
        if (std::isfinite(values[0])) {
          std::copy_n(values, n, arrays.state + slow[i] * n);
          arrays.state_time[slow[i]] = time;
        }
      }
    }
    good = law.step(period);
    watched = false;
    cpu.push_back(seconds(CLOCK_PROCESS_CPUTIME_ID) - worked);
    wall.push_back(seconds(CLOCK_MONOTONIC) - began);
    refused += good ? 0 : 1;
    if (k < steps) {
      out.push_back(static_cast<double>(law.phase()));
      out.push_back(static_cast<double>(law.outcome()));
      out.insert(out.end(), law.command().begin(), law.command().end());
    }
  }
  std::set<std::pair<time_t, std::int64_t>> ends;
  deadlines = &ends;
  const bool deactivated = host.deactivate(std::chrono::seconds(1));
  deadlines = nullptr;
  beside.reset();
  std::ofstream(folder + "/commands.bin", std::ios::binary)
    .write(
      reinterpret_cast<const char *>(out.data()),
      static_cast<std::streamsize>(out.size() * sizeof(double)));
  std::string reason = host.reason();
  std::replace(reason.begin(), reason.end(), '"', '\'');
  std::cout << "{\"steps\": " << wall.size() << ", \"errors\": " << refused
            << ", \"late\": " << law.late_steps() << ", \"allocations\": " << allocations
            << ", \"declared\": " << declared.size() << ", \"remarks\": " << remarks.size()
            << ", \"deactivated\": " << (deactivated ? "true" : "false")
            << ", \"deadlines\": " << ends.size()
            << ", \"scheduled\": " << (host.scheduled() ? "true" : "false") << ", \"reason\": \""
            << reason << "\", \"wall_us\": " << statistics(wall)
            << ", \"cpu_us\": " << statistics(cpu) << "}" << std::endl;
  return 0;
}
}  // namespace

int main(int count, char ** words)
{
  if (count < 2) {
    std::cerr << "law_host_trial FOLDER [options]\n";
    return 2;
  }
  // What is refused is tried again, as a controller is configured anew in the same process.
  for (std::string first;;) {
    try {
      return play(count, words);
    } catch (const std::exception & error) {
      if (!first.empty()) {
        std::cerr << first << "; again: " << error.what() << "; " << threads() << " threads"
                  << std::endl;
        return 1;
      }
      first = error.what();
    }
  }
}
