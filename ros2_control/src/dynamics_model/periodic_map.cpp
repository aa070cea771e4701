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

#include "dynamics_model/periodic_map.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace joint_dynamics
{
namespace
{
constexpr double TURN = 2.0 * M_PI;          // rad
constexpr std::size_t MAX_HARMONICS = 12;    // of a Fourier series
constexpr int POINTS = 720;                  // of its table: interpolation error below (h 2π/720)²/8 of harmonic h
}  // namespace

PeriodicMap::PeriodicMap(double value)
: points_{value}
{
  close();
}

PeriodicMap::PeriodicMap(const Field & document)
{
  document.only(
    {"type", "period", "values", "mean", "cosine", "sine", "standard_deviations", "coverage", "load_shares",
      "load_lag"});
  const double period = document["period"].present() ? document["period"].positive() : TURN;
  per_turn_ = 1.0 / period;
  const std::string type = document["type"].present() ? document["type"].text() : "table";
  if (type == "table") {
    points_ = document.at("values").numbers();
    if (points_.empty()) {
      document["values"].refuse("at least one number", "none");
    }
  } else if (type == "fourier") {
    const double mean = document.at("mean").number();
    const std::vector<double> cosine = document.at("cosine").numbers(), sine = document.at("sine").numbers();
    if (cosine.size() != sine.size() || cosine.empty() || cosine.size() > MAX_HARMONICS) {
      document["cosine"].refuse("1 to 12 coefficients, as many as in sine", std::to_string(cosine.size()));
    }
    for (int i = 0; i < POINTS; ++i) {
      double value = mean;
      for (std::size_t h = 0; h < cosine.size(); ++h) {
        const double angle = i * period / POINTS * (TURN / period) * static_cast<double>(h + 1);
        value += cosine[h] * std::cos(angle) + sine[h] * std::sin(angle);
      }
      points_.push_back(value);
    }
  } else {
    document["type"].refuse("table or fourier");
  }
  close();
}

void PeriodicMap::close()
{
  points_.insert(points_.end(), 2, points_.front());
}

double PeriodicMap::operator()(double theta) const noexcept
{
  double u = theta * per_turn_;
  u -= std::floor(u);
  u *= static_cast<double>(points_.size() - 2);
  if (!std::isfinite(u)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const auto cell = static_cast<std::size_t>(u);
  const double low = points_[cell];
  return (u - static_cast<double>(cell)) * (points_[cell + 1] - low) + low;
}

double PeriodicMap::minimum() const noexcept
{
  return *std::min_element(points_.begin(), points_.end());
}

double PeriodicMap::maximum() const noexcept
{
  return *std::max_element(points_.begin(), points_.end());
}

}  // namespace joint_dynamics
