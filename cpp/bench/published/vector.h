// Share vectors of the yardstick: five resources, as in the published library.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace yardstick {

inline constexpr std::size_t kResources = 5;  // user slots, cpu, gpu, memory, network
inline constexpr double kEpsilon = 1e-9;

struct Vector : std::array<double, kResources> {
  static Vector all(double value) {
    Vector v;
    v.fill(value);
    return v;
  }
};

template <class F>
Vector combine(const Vector& a, const Vector& b, F f) {
  Vector out;
  for (std::size_t r = 0; r < kResources; ++r) out[r] = f(a[r], b[r]);
  return out;
}

inline Vector operator+(const Vector& a, const Vector& b) {
  return combine(a, b, [](double x, double y) { return x + y; });
}
inline Vector operator-(const Vector& a, const Vector& b) {
  return combine(a, b, [](double x, double y) { return x - y; });
}
inline Vector operator*(const Vector& a, double k) {
  return combine(a, a, [k](double x, double) { return x * k; });
}
inline Vector min(const Vector& a, const Vector& b) {
  return combine(a, b, [](double x, double y) { return std::min(x, y); });
}
inline Vector max(const Vector& a, const Vector& b) {
  return combine(a, b, [](double x, double y) { return std::max(x, y); });
}
inline bool dominated(const Vector& a, const Vector& b) {
  for (std::size_t r = 0; r < kResources; ++r)
    if (!(a[r] <= b[r])) return false;
  return true;
}
inline double largest(const Vector& a) { return *std::max_element(a.begin(), a.end()); }

}  // namespace yardstick
