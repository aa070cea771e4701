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

#include "dynamics_model/field.hpp"
#include "dynamics_model/refusal.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <regex>
#include <set>
#include <limits>

namespace joint_dynamics
{
namespace
{

constexpr std::size_t MAX_BYTES = 4u << 20;  // a URDF or a description has a few hundred thousand
constexpr int MAX_DEPTH = 60;                // a description has less than ten levels
constexpr int MAX_NODES = 300000;            // each alias counted as often as what it stands for
constexpr std::size_t MAX_NAME = 100;        // characters
constexpr double MAX_NUMBER = 1e30;          // the largest are stiffnesses of 1e9 N·m/rad³ and their squares
constexpr std::size_t MAX_SHOWN = 60;        // characters of a value in a message

/// A plain scalar that YAML 1.1, which Python reads, takes for a number.
std::optional<double> number_of(const std::string & text)
{
  static const std::regex decimal(
    R"([-+]?(0|[1-9][0-9]*)|[-+]?[0-9]+\.[0-9]*([eE][-+][0-9]+)?|\.[0-9]+([eE][-+][0-9]+)?)");
  if (text.empty() || text.size() > MAX_NAME || !std::regex_match(text, decimal)) {
    return std::nullopt;
  }
  double value = 0.0;
  const char * begin = text.data() + (text[0] == '+');
  const auto result = std::from_chars(begin, text.data() + text.size(), value);
  // what overflows is no number of a robot
  return result.ec == std::errc() ? value : std::numeric_limits<double>::infinity();
}

bool is_unexpected_number(const std::string & text)
{
  static const std::regex strange(
    R"([-+]?(0[0-7_]+|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?|[0-9][0-9.]*_[0-9_.e+-]*))"
    R"(|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))");
  return text.size() <= MAX_NAME && std::regex_match(text, strange);
}

std::string shown(const YAML::Node & node)
{
  if (!node.IsDefined()) {
    return "nothing";
  }
  if (!node.IsScalar()) {
    return node.IsMap() ? "a mapping" : node.IsSequence() ? "a list" : "null";
  }
  const std::string text = node.Scalar().substr(0, MAX_SHOWN);
  return "'" + text.substr(0, text.find('\n')) + "'";
}

}  // namespace

Field Field::parse(const std::string & text)
{
  Field root(YAML::Node(YAML::NodeType::Undefined), "");
  if (text.size() > MAX_BYTES) {
    root.refuse("at most 4 MB", std::to_string(text.size()) + " bytes");
  }
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() != 1 || !documents[0].IsMap()) {
      root.refuse("one mapping (YAML)", documents.empty() ? "nothing" : "something else");
    }
    root.node_ = documents[0];
    int nodes = 0;
    root.check(0, nodes);
  } catch (const YAML::Exception & error) {
    root.refuse("YAML", error.what());
  }
  return root;
}

void Field::check(int depth, int & nodes) const
{
  if (depth > MAX_DEPTH || ++nodes > MAX_NODES) {
    refuse("at most 60 levels and 300000 values", "more");
  }
  if (node_.IsMap()) {
    std::set<std::string> keys;
    for (const auto & entry : node_) {
      if (!entry.first.IsScalar() || !keys.insert(entry.first.Scalar()).second) {
        refuse("each key once, as text", shown(entry.first));
      }
    }
    for (const auto & [key, field] : entries()) {
      field.check(depth + 1, nodes);
    }
  } else if (node_.IsSequence()) {
    for (const Field & item : items()) {
      item.check(depth + 1, nodes);
    }
  } else if (node_.IsScalar() && node_.Tag() == "?") {
    const auto value = number_of(node_.Scalar());
    if (value ? std::abs(*value) > MAX_NUMBER : is_unexpected_number(node_.Scalar())) {
      refuse("a finite decimal number of at most 1e30");
    }
  }
}

Field Field::operator[](const std::string & key) const
{
  if (present() && !is_mapping()) {
    refuse("a mapping");
  }
  const YAML::Node & node = node_;
  const std::string path = path_.empty() ? key : path_ + "." + key;
  const YAML::Node found = present() ? node[key] : YAML::Node(YAML::NodeType::Undefined);
  return Field(found.IsDefined() ? found : YAML::Node(YAML::NodeType::Undefined), path);
}

Field Field::at(const std::string & key) const
{
  Field field = (*this)[key];
  if (!field.present()) {
    field.refuse("this field", "nothing");
  }
  return field;
}

std::vector<std::pair<std::string, Field>> Field::entries() const
{
  if (present() && !is_mapping()) {
    refuse("a mapping");
  }
  std::vector<std::pair<std::string, Field>> all;
  for (const auto & entry : node_) {
    const std::string & key = entry.first.Scalar();
    all.emplace_back(key, Field(entry.second, path_.empty() ? key : path_ + "." + key));
  }
  return all;
}

std::vector<Field> Field::items() const
{
  if (present() && !node_.IsSequence()) {
    refuse("a list");
  }
  std::vector<Field> all;
  for (const auto & item : node_) {
    all.push_back(Field(item, path_ + "[" + std::to_string(all.size()) + "]"));
  }
  return all;
}

void Field::only(const std::vector<std::string> & known) const
{
  for (const auto & [key, field] : entries()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      std::string names;
      for (const std::string & name : known) {
        names += (names.empty() ? "" : ", ") + name;
      }
      field.refuse("one of " + names, "this unknown field");
    }
  }
}

double Field::number() const
{
  const auto value = node_.IsScalar() && node_.Tag() == "?" ? number_of(node_.Scalar()) : std::nullopt;
  if (!value) {
    refuse("a finite number");
  }
  return *value;
}

double Field::positive() const
{
  const double value = number();
  if (!(value > 0.0)) {
    refuse("a number above 0");
  }
  return value;
}

bool Field::truth_or(bool otherwise) const
{
  if (!present()) {
    return otherwise;
  }
  bool value = false;
  if (!node_.IsScalar() || node_.Tag() != "?" || !YAML::convert<bool>::decode(node_, value)) {
    refuse("true or false");
  }
  return value;
}

std::string Field::text() const
{
  if (!node_.IsScalar() || (node_.Tag() == "?" && number_of(node_.Scalar()))) {
    refuse("text");
  }
  return node_.Scalar();
}

std::vector<double> Field::numbers(std::size_t size) const
{
  std::vector<double> values;
  for (const Field & item : items()) {
    values.push_back(item.number());
  }
  if (!present() || (size > 0 && values.size() != size)) {
    refuse(size > 0 ? "a list of " + std::to_string(size) + " numbers" : "a list of numbers");
  }
  return values;
}

std::vector<std::string> Field::names() const
{
  std::vector<std::string> all;
  for (const Field & item : items()) {
    const std::string name = item.text();
    const bool printable = std::all_of(name.begin(), name.end(), [](char c) {return c >= ' ' && c <= '~';});
    if (name.empty() || name.size() > MAX_NAME || name.front() == ' ' || name.back() == ' ' || !printable ||
      std::find(all.begin(), all.end(), name) != all.end())
    {
      item.refuse("a name of 1 to 100 printable ASCII characters, each once");
    }
    all.push_back(name);
  }
  return all;
}

void Field::refuse(const std::string & expected, const std::string & found) const
{
  joint_dynamics::refuse("dynamics description" + (path_.empty() ? "" : ": " + path_), expected, found);
}

void Field::refuse(const std::string & expected) const
{
  refuse(expected, shown(node_));
}

}  // namespace joint_dynamics
