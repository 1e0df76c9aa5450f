// Products of small matrices, in row-major order.

#pragma once

#include "lanes.h"

namespace {

// Size of a tile of sums that fits in the registers, of which there are 32 or 16.
constexpr int TALL = 6;
#if defined __AVX512VL__ || defined __aarch64__
constexpr int WIDE = 4;
#else
constexpr int WIDE = 2;
#endif

// Padding after every array that is read in lanes, because the last lane may extend past its end.
constexpr Size SLACK = WIDE * LANE;

// The left factor of a product, or its transpose: element (i, j) is data[i * row + j * column].
struct Left {
  const float *data;
  Size row, column;
};

// The right factor: element (i, j) is data[i * row + j]; the data are followed by SLACK numbers.
struct Right {
  const float *data;
  Size row;
};

#define UNROLLED _Pragma("GCC unroll 16")

// Computes ROWS x (LANES * LANE) elements of `left right`; does not write beyond `columns`.
template <int ROWS, int LANES>
void tile(Left left, Right right, Size depth, float *out, Size out_row, Size columns, bool add) {
  Lane sum[ROWS][LANES];
  UNROLLED
  for (int r = 0; r < ROWS; ++r)
    UNROLLED
    for (int l = 0; l < LANES; ++l) sum[r][l] = Lane{};
  for (Size k = 0; k < depth; ++k) {
    Lane factor[LANES];
    UNROLLED
    for (int l = 0; l < LANES; ++l) factor[l] = load(right.data + k * right.row + l * LANE);
    UNROLLED
    for (int r = 0; r < ROWS; ++r)
      UNROLLED
      for (int l = 0; l < LANES; ++l)
        sum[r][l] = fused(left.data[r * left.row + k * left.column], factor[l], sum[r][l]);
  }
  UNROLLED
  for (int r = 0; r < ROWS; ++r)
    UNROLLED
    for (int l = 0; l < LANES; ++l) {
      float *to = out + r * out_row + l * LANE;
      const Lane total = add ? load(to) + sum[r][l] : sum[r][l];
      if (l + 1 < LANES)
        store(to, total);
      else
        store_within(to, total, columns - l * LANE);
    }
}

// Tiles by number of rows and lanes. If WIDE is 2, the last two of four are not used.
using Tile = void (*)(Left, Right, Size, float *, Size, Size, bool);
#define TILES_OF(rows) {tile<rows, 1>, tile<rows, 2>, tile<rows, WIDE - 1>, tile<rows, WIDE>}
const Tile TILES[TALL][4] = {TILES_OF(1), TILES_OF(2), TILES_OF(3),
                             TILES_OF(4), TILES_OF(5), TILES_OF(6)};

// Size of the next piece when `rest` is divided into as few pieces of at most `most` as possible.
inline Size piece(Size rest, Size most) {
  const Size pieces = (rest + most - 1) / most;
  return (rest + pieces - 1) / pieces;
}

// out [rows, columns] = left [rows, depth] right [depth, columns], or += if `add`.
void product(Size rows, Size depth, Size columns, Left left, Right right, float *out, Size out_row,
             bool add = false) {
  for (Size r = 0, tall; r < rows; r += tall) {
    tall = piece(rows - r, TALL);
    const Left lower = {left.data + r * left.row, left.row, left.column};
    for (Size c = 0, wide; c < columns; c += wide * LANE) {
      wide = piece((columns - c + LANE - 1) / LANE, WIDE);
      TILES[tall - 1][wide - 1](lower, {right.data + c, right.row}, depth,
                                out + r * out_row + c, out_row, columns - c, add);
    }
  }
}

// Writes the transpose [columns, rows] of a matrix [rows, columns] to `out`, whose rows are
// `out_row` numbers apart.
void transpose(const float *__restrict matrix, Size rows, Size columns, float *__restrict out,
               Size out_row) {
  for (Size c = 0; c < columns; ++c)
    for (Size r = 0; r < rows; ++r) out[c * out_row + r] = matrix[r * columns + c];
}

// Every sixteenth product is added to the same partial sum, whatever the size of a lane.
constexpr int PARTS = 16;

float dot(const float *a, const float *b, Size n) {
  constexpr int LANES = PARTS / LANE;
  Lane lanes[LANES] = {};
  Size i = 0;
  for (; i + PARTS <= n; i += PARTS)
    UNROLLED
    for (int l = 0; l < LANES; ++l)
      lanes[l] = fused(load(a + i + l * LANE), load(b + i + l * LANE), lanes[l]);
  float rest = 0;
  for (; i < n; ++i) rest = fused(a[i], b[i], rest);
  return sum_by_halves<PARTS>(lanes) + rest;
}

}  // namespace
