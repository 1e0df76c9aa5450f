// Random numbers; random.cpp documents them.

#pragma once

#include <cstdint>

extern "C" void draw_numbers(uint64_t key, uint64_t place, int normal, int64_t count, float *out);

// A draw of some numbers takes the counters of at least as many numbers, a multiple of 64. Each
// counter makes four.
inline int64_t room_for_draw(int64_t count) { return (count + 63) / 64 * 64; }
