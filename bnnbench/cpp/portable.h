// Elementary functions whose bits depend on neither the processor nor the C library.
//
// The library is compiled without contraction, so every operation below rounds once, in any width
// of vector registers. bnnbench/portable_math.py does the same operations in numpy. Errors are a
// few units in the last place.

#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace {

constexpr double INFINITE = HUGE_VAL;

inline int64_t bits_of(double x) {
  int64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

inline double from_bits(int64_t bits) {
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// exp(x) = 2^k exp(r), with x = k log 2 + r and a Taylor polynomial in r; 0 below -708.
inline double portable_exp(double x) {
  const double magic = 6755399441055744.0;  // 1.5 * 2^52
  const double below = x > 709 ? 709 : x, near = below < -708 ? -708 : below;
  const double shifted = near * 1.44269504088896340736 + magic, k = shifted - magic;
  const double r = (near - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10;
  double p = 1.0 / 6227020800;
  p = (p * r + 1.0 / 479001600) * r + 1.0 / 39916800;
  p = (p * r + 1.0 / 3628800) * r + 1.0 / 362880;
  p = (p * r + 1.0 / 40320) * r + 1.0 / 5040;
  p = (p * r + 1.0 / 720) * r + 1.0 / 120;
  p = (p * r + 1.0 / 24) * r + 1.0 / 6;
  p = ((p * r + 0.5) * r + 1) * r + 1;
  const double value = p * from_bits((bits_of(shifted) + 1023) << 52);  // its lowest bits are k
  return x > 709 ? INFINITE : x < -708 ? 0 : value;
}

// log(x) for x >= 2^-1022: x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), and
// log(1 + f) = 2 artanh(f / (2 + f)).
inline double portable_log(double x) {
  const int64_t k = (bits_of(x) - 0x3fe6a09e667f3bcdLL) >> 52;
  const double f = from_bits(bits_of(x) - (k << 52)) - 1, z = f / (2 + f), y = z * z;
  double p = 1.0 / 23;
  p = (p * y + 1.0 / 21) * y + 1.0 / 19;
  p = (p * y + 1.0 / 17) * y + 1.0 / 15;
  p = (p * y + 1.0 / 13) * y + 1.0 / 11;
  p = (p * y + 1.0 / 9) * y + 1.0 / 7;
  p = (p * y + 1.0 / 5) * y + 1.0 / 3;
  const double rest = 2 * z * (y * p) + 2 * z, n = double(k);
  const double value = n * 0.693147180369123816490 + (n * 1.90821492927058770002e-10 + rest);
  return x > 0 ? (x < INFINITE ? value : x) : (x == 0 ? -INFINITE : NAN);
}

// Kahan's formulas, from the functions above.
inline double portable_log1p(double x) {
  const double u = 1 + x;
  return u == 1 ? x : portable_log(u) * (x / (u - 1));
}

inline double portable_expm1(double x) {
  const double u = portable_exp(x);
  if (u == 1) return x;
  return u - 1 == -1 || u == INFINITE ? u - 1 : (u - 1) * (x / portable_log(u));
}

// x^n for a whole number n.
inline double portable_power(double x, int64_t n) {
  double power = 1;
  for (; n > 0; n >>= 1, x *= x)
    if (n & 1) power *= x;
  return power;
}

// exp(x^2) erfc(x) for x >= 0. Its product with 1 + 2 x is interpolated by a polynomial at
// Chebyshev points of t = (x - 4) / (x + 4) in [-1, 1] (Shepherd & Laframboise 1981, with 3.75
// instead of 4), to a relative error of 2e-15.
inline double scaled_erfc(double x) {
  const double t = 1 - 8 / (x + 4);
  double p = 1.6403183696752708e-09;
  p = p * t - 6.984021100158542e-09;
  p = p * t - 1.673812797437216e-08;
  p = p * t + 9.290772873032215e-08;
  p = p * t + 7.202517584836005e-08;
  p = p * t - 8.019174684327191e-07;
  p = p * t + 2.968409172531307e-07;
  p = p * t + 5.6894090899650724e-06;
  p = p * t - 1.1224122281497544e-05;
  p = p * t - 2.4387691264306046e-05;
  p = p * t + 0.00015062257137043143;
  p = p * t - 0.0001992610018544279;
  p = p * t - 0.0007577735257382458;
  p = p * t + 0.005031971017234254;
  p = p * t - 0.016197734020451597;
  p = p * t + 0.03716751538360477;
  p = p * t - 0.06633036581541651;
  p = p * t + 0.0937328350110569;
  p = p * t - 0.10103906603618064;
  p = p * t + 0.06809705425420673;
  p = p * t + 0.015379652102618402;
  p = p * t - 0.139621116840557;
  p = p * t + 1.2329951186255526;
  return p / (1 + 2 * x);
}

}  // namespace
