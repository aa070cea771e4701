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
#include "python.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <type_traits>

namespace joint_dynamics_controllers::python
{
namespace
{
/// Make the symbols of a loaded library visible to those loaded later, and keep it for good.
void keep(const void * symbol, int visibility)
{
  Dl_info info;
  if (dladdr(symbol, &info) != 0 && info.dli_fname != nullptr) {
    dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE | visibility);
  }
}

/// Why the interpreter did not start: it cannot be tried again, what there is of it holds its lock.
std::string failure;

void check_status(const PyStatus & status, PyConfig & config)
{
  if (PyStatus_Exception(status)) {
    PyConfig_Clear(&config);
    failure = std::string("python: expected the interpreter to start, found ") +
      (status.err_msg == nullptr ? "no reason" : status.err_msg) +
      "; start the process anew once that is mended";
    throw std::runtime_error(failure);
  }
}
}  // namespace

void start(const std::string & python)
{
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  if (!failure.empty()) {
    throw std::runtime_error(failure);
  }
  if (Py_IsInitialized() != 0) {
    return;
  }
  // Extension modules such as numpy's are not linked to libpython: they look for its symbols in the
  // process, where a plugin's libraries are loaded out of sight. And the thread of a law that hangs
  // must not lose its code when the plugin is unloaded.
  keep(reinterpret_cast<const void *>(&Py_IsInitialized), RTLD_GLOBAL);
  keep(reinterpret_cast<const void *>(&start), RTLD_LOCAL);
  // One thread is what this has; matrices of six joints gain nothing by more.
  setenv("OPENBLAS_NUM_THREADS", "1", 0);
  setenv("OMP_NUM_THREADS", "1", 0);
  std::string program = python;
  if (const char * environment = std::getenv("VIRTUAL_ENV"); program.empty() && environment) {
    program = std::string(environment) + "/bin/python";
  }
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.install_signal_handlers = 0;
  config.parse_argv = 0;
  if (!program.empty()) {
    check_status(PyConfig_SetBytesString(&config, &config.program_name, program.c_str()), config);
    check_status(PyConfig_SetBytesString(&config, &config.executable, program.c_str()), config);
  }
  check_status(Py_InitializeFromConfig(&config), config);
  PyConfig_Clear(&config);
  PyEval_SaveThread();
}

std::string error()
{
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  const Object owned[] = {Object(type), Object(value), Object(traceback)};
  if (type == nullptr) {
    return "Python raised nothing";
  }
  const Object text(value == nullptr ? nullptr : PyObject_Str(value));
  std::string name = reinterpret_cast<PyTypeObject *>(type)->tp_name;
  std::string message = text ? to_string(text.get()) : "";
  PyErr_Clear();
  // Those of the package say all themselves.
  return name == "JointDynamicsError" || name == "Refused" ? message : name + ": " + message;
}

Object check(PyObject * result)
{
  if (result == nullptr) {
    throw std::runtime_error(error());
  }
  return Object(result);
}

Object call(const char * module, const char * name, PyObject * arguments)
{
  const Object owned = check(arguments);
  const Object imported = check(PyImport_ImportModule(module));
  const Object callable = check(PyObject_GetAttrString(imported.get(), name));
  return check(PyObject_CallObject(callable.get(), owned.get()));
}

Object from_value(const Value & value)
{
  return std::visit(
    [](const auto & held) -> Object {
      using Held = std::decay_t<decltype(held)>;
      if constexpr (std::is_same_v<Held, bool>) {
        return Object(PyBool_FromLong(held ? 1 : 0));
      } else if constexpr (std::is_same_v<Held, std::int64_t>) {
        return check(PyLong_FromLongLong(held));
      } else if constexpr (std::is_same_v<Held, double>) {
        return check(PyFloat_FromDouble(held));
      } else if constexpr (std::is_same_v<Held, std::string>) {
        return check(PyUnicode_FromStringAndSize(
          held.data(), static_cast<Py_ssize_t>(held.size())));
      } else {
        Object list = check(PyList_New(0));
        for (const auto & item : held) {
          const Object converted = from_value(Value(item));
          if (PyList_Append(list.get(), converted.get()) != 0) {
            throw std::runtime_error(error());
          }
        }
        return list;
      }
    },
    value);
}

Object from_values(const Values & values)
{
  Object parameters = check(PyDict_New());
  for (const auto & [name, value] : values) {
    const Object converted = from_value(value);
    if (PyDict_SetItemString(parameters.get(), name.c_str(), converted.get()) != 0) {
      throw std::runtime_error(error());
    }
  }
  return parameters;
}

Value to_value(PyObject * object)
{
  if (PyBool_Check(object)) {
    return object == Py_True;
  }
  if (PyLong_Check(object)) {
    return static_cast<std::int64_t>(PyLong_AsLongLong(object));
  }
  if (PyFloat_Check(object)) {
    return PyFloat_AsDouble(object);
  }
  if (PyUnicode_Check(object)) {
    return to_string(object);
  }
  if (!PyList_Check(object)) {
    throw std::runtime_error(
      std::string("parameter: expected a value that ROS has, found a ") + Py_TYPE(object)->tp_name);
  }
  std::vector<std::string> texts;
  std::vector<double> numbers;
  for (Py_ssize_t k = 0; k < PyList_Size(object); ++k) {
    const Value item = to_value(PyList_GetItem(object, k));
    if (std::holds_alternative<std::string>(item)) {
      texts.push_back(std::get<std::string>(item));
    } else if (std::holds_alternative<double>(item)) {
      numbers.push_back(std::get<double>(item));
    } else {
      throw std::runtime_error("parameter: expected a list of texts or of numbers, found another");
    }
  }
  return numbers.empty() ? Value(texts) : Value(numbers);
}

std::string to_string(PyObject * text)
{
  Py_ssize_t size = 0;
  const char * data = PyUnicode_AsUTF8AndSize(text, &size);
  if (data == nullptr) {
    PyErr_Clear();
    return "a text that is none";
  }
  return std::string(data, static_cast<std::size_t>(size));
}

}  // namespace joint_dynamics_controllers::python
