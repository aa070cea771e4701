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

#ifndef DYNAMICS_MODEL__FIELD_HPP_
#define DYNAMICS_MODEL__FIELD_HPP_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

namespace joint_dynamics
{

/// One value of a YAML document and its path, which every refusal names.
///
/// All members throw std::runtime_error: "dynamics description: PATH: expected …, found …".
class Field
{
public:
  /// A value that is missing.
  Field() = default;

  /// Reads one document, bounded as in Python (`joint_dynamics.documents`): 4 MB, 60 levels, 300,000 values with
  /// aliases expanded; each key once, no number that is not finite or that YAML reads unexpectedly (0777).
  static Field parse(const std::string & text);

  bool present() const {return node_.IsDefined();}
  bool is_mapping() const {return node_.IsMap();}
  bool is_list() const {return node_.IsSequence();}
  bool is_null() const {return node_.IsNull();}
  const std::string & path() const {return path_;}

  /// An entry of a mapping; missing where it has none.
  Field operator[](const std::string & key) const;
  /// An entry that is required.
  Field at(const std::string & key) const;
  /// All entries of a mapping by key; none where this is missing.
  std::vector<std::pair<std::string, Field>> entries() const;
  /// All items of a list; none where this is missing.
  std::vector<Field> items() const;
  /// Refuses a key that is not known.
  void only(const std::vector<std::string> & known) const;

  double number() const;
  double number_or(double otherwise) const {return present() ? number() : otherwise;}
  double positive() const;
  bool truth_or(bool otherwise) const;
  std::string text() const;
  /// A list of numbers; size 0: of any length.
  std::vector<double> numbers(std::size_t size = 0) const;
  std::vector<std::string> names() const;

  [[noreturn]] void refuse(const std::string & expected, const std::string & found) const;
  [[noreturn]] void refuse(const std::string & expected) const;

private:
  Field(const YAML::Node & node, std::string path)
  : node_(node), path_(std::move(path)) {}
  void check(int depth, int & nodes) const;

  YAML::Node node_{YAML::NodeType::Undefined};
  std::string path_;
};

}  // namespace joint_dynamics

#endif  // DYNAMICS_MODEL__FIELD_HPP_
