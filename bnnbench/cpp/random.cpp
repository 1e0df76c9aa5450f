// Counter-based random numbers: uniform on [0, 1) and standard normal.
//
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) maps a key
// and a counter to four words of 32 bits. A key identifies a stream and a counter a position in it,
// so the generator has no state. Sixteen counters are processed in parallel, one per lane: number
// 64 g + 16 w + j of a draw that starts at counter c is made from word w of counter c + 16 g + j.
//
// Two words make two normal numbers (Box & Muller 1958): the first a radius, sqrt(-2 log u) with u
// on (0, 1], the second an angle. bnnbench/random_streams.py implements the same in numpy and
// torch.

#include "random.h"

#include "lanes.h"

namespace {

constexpr int SIDE = 16;  // counters side by side, in one register or more
constexpr Size GROUP = 4 * SIDE;

#if defined __AVX512F__
constexpr int WIDTH = 16;  // of a register
#else
constexpr int WIDTH = LANE;
#endif

typedef uint32_t Words __attribute__((vector_size(4 * WIDTH)));
typedef int32_t Integers __attribute__((vector_size(4 * WIDTH)));
typedef uint64_t Products __attribute__((vector_size(4 * WIDTH)));
typedef float Reals __attribute__((vector_size(4 * WIDTH)));

// Registers whose words are computed together, because the rounds of one depend on each other; more
// would not fit.
constexpr int TOGETHER = WIDTH == 16 ? 4 : 1;
constexpr int REGISTERS = std::max(TOGETHER, SIDE / WIDTH);
constexpr Size BLOCK = REGISTERS * WIDTH * 4;  // numbers drawn at a time

struct Four {
  Words w[4];
};

inline Reals reals(Integers i) { return __builtin_convertvector(i, Reals); }

inline Reals of_bits(Integers bits) {
  Reals values;
  std::memcpy(&values, &bits, sizeof values);
  return values;
}

// The products of the lower halves of 64 bits. Compilers do not know that the upper halves do not
// matter.
inline Products lower_products(Products a, Products b) {
#if defined __AVX512F__
  return Products(_mm512_mul_epu32(__m512i(a), __m512i(b)));
#elif defined __AVX2__ && FLOATS_PER_LANE == 8
  return Products(_mm256_mul_epu32(__m256i(a), __m256i(b)));
#else
  return (a & 0xffffffff) * (b & 0xffffffff);
#endif
}

// The high and low halves of the product of every word and a factor. Pairs of words are multiplied
// in place, which is twice as fast as widening all words.
inline void multiply(Words words, uint64_t factor, Words &high, Words &low) {
  const Products pairs = Products(words), factors = Products{} + factor;
  const Products even = lower_products(pairs, factors), odd = lower_products(pairs >> 32, factors);
#if defined __AVX512F__  // compilers do not find these instructions
  high = Words(_mm512_mask_shuffle_epi32(__m512i(odd), 0x5555, __m512i(even), _MM_PERM_CDAB));
  low = Words(_mm512_mask_shuffle_epi32(__m512i(even), 0xAAAA, __m512i(odd), _MM_PERM_CDAB));
#else
  constexpr uint64_t LOWER = 0xffffffff;
  high = Words((even >> 32) | (odd & ~LOWER));
  low = Words((even & LOWER) | (odd << 32));
#endif
}

[[gnu::always_inline]] inline void set_words(uint64_t key, uint64_t counter, Four *out) {
  Four x[TOGETHER];
  for (int r = 0; r < TOGETHER; ++r) {
    const uint64_t first = counter + r * WIDTH;
    Words lanes;
    for (int j = 0; j < WIDTH; ++j) lanes[j] = uint32_t(first) + j;  // a multiple of WIDTH
    x[r] = {{lanes, Words{} + uint32_t(first >> 32), Words{}, Words{}}};
  }
  uint32_t k0 = uint32_t(key), k1 = uint32_t(key >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u)
#pragma GCC unroll 4
    for (int r = 0; r < TOGETHER; ++r) {
      Words high0, low0, high2, low2;
      multiply(x[r].w[0], 0xD2511F53u, high0, low0);
      multiply(x[r].w[2], 0xCD9E8D57u, high2, low2);
      x[r] = {{high2 ^ x[r].w[1] ^ k0, low2, high0 ^ x[r].w[3] ^ k1, low0}};
    }
  for (int r = 0; r < TOGETHER; ++r) out[r] = x[r];
}

inline Reals root(Reals values) {
  for (int j = 0; j < WIDTH; ++j) values[j] = __builtin_sqrtf(values[j]);
  return values;
}

// sqrt(-2 log u), u = (24 bits of the word, and one) / 2^24.
// u = 2^k (1 + f), and log(1 + f) = 2 artanh(f / (2 + f)) with 1 + f from sqrt(1/2) to sqrt(2).
inline Reals radius(Words word) {
  const Reals u = reals(Integers(word >> 8) + 1) * 0x1p-24f;
  Integers bits;
  std::memcpy(&bits, &u, sizeof bits);
  const Integers k = (bits - 0x3f3504f3) >> 23;
  const Reals f = of_bits(bits - (k << 23)) - 1, z = f / (2 + f), y = z * z;
  const Reals tail = y * (1 / 3.0f + y * (1 / 5.0f + y * (1 / 7.0f + y * (1 / 9.0f))));
  return root(-2 * (reals(k) * 0.693147181f + 2 * (z + z * tail)));
}

// Cosine and sine of word / 2^32 turns. The angle is reduced to at most an eighth of a turn and
// passed to polynomials (Cephes, sinf and cosf).
inline void point_on_circle(Words word, Reals &cosine, Reals &sine) {
  const Words quarter = (word + (1u << 29)) >> 30;
  const Reals x = reals(Integers(word - (quarter << 30))) * (6.28318531f * 0x1p-32f), y = x * x;
  const Reals s = x + x * y * (-1.6666654611e-1f + y * (8.3321608736e-3f - y * 1.9515295891e-4f));
  const Reals c = (1 - 0.5f * y) + y * y * (4.1666645683e-2f +
                                            y * (2.4433157118e-5f * y - 1.3887316255e-3f));
  const Integers odd = Integers(quarter & 1) != 0;
  const Reals first = odd ? s : c, second = odd ? c : s;
  cosine = Integers((quarter + 1) & 2) != 0 ? -first : first;
  sine = Integers(quarter & 2) != 0 ? -second : second;
}

struct Numbers {
  Reals of[4];  // by word
};

inline Numbers uniform_numbers(Four x) {
  Numbers out;
  for (int w = 0; w < 4; ++w) out.of[w] = reals(Integers(x.w[w] >> 8)) * 0x1p-24f;
  return out;
}

inline Numbers normal_numbers(Four x) {
  Numbers out;
  for (int w = 0; w < 4; w += 2) {
    Reals cosine, sine;
    const Reals r = radius(x.w[w]);
    point_on_circle(x.w[w + 1], cosine, sine);
    out.of[w] = r * cosine;
    out.of[w + 1] = r * sine;
  }
  return out;
}

template <bool NORMAL>
void draw_block(uint64_t key, uint64_t place, float *out) {
  Four x[REGISTERS];
  for (int r = 0; r < REGISTERS; r += TOGETHER) set_words(key, place + r * WIDTH, x + r);
  for (int r = 0; r < REGISTERS; ++r) {
    const int first = r * WIDTH;
    const Numbers numbers = NORMAL ? normal_numbers(x[r]) : uniform_numbers(x[r]);
    float *to = out + first / SIDE * GROUP + first % SIDE;
    for (int w = 0; w < 4; ++w) std::memcpy(to + w * SIDE, &numbers.of[w], sizeof(Reals));
  }
}

template <bool NORMAL>
void draw(uint64_t key, uint64_t place, Size count, float *out) {
  for (; count >= BLOCK; count -= BLOCK, place += BLOCK / 4, out += BLOCK)
    draw_block<NORMAL>(key, place, out);
  float rest[BLOCK];
  if (count > 0) draw_block<NORMAL>(key, place, rest);
  std::copy_n(rest, count, out);
}

}  // namespace

// Draws `count` numbers of the stream `key` from counter `place` on, a multiple of 16.
extern "C" void draw_numbers(uint64_t key, uint64_t place, int normal, Size count, float *out) {
  (normal ? draw<true> : draw<false>)(key, place, count, out);
}
