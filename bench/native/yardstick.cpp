// The native yardstick: how fast this machine answers the same questions about the same keys in C++.
//
//   split    256-bit split blocks (Parquet's layout), XXH64, AVX2 where the machine has it
//   block    512-bit blocks as in the library, Forge64
//   classic  one array of m bits and k indices as in the library, Forge64
//   fast     split blocks again, with a hash on 64x64->128 products: what a C++ programmer would take. Its hash
//            is a few lines for speed comparison only; nobody has tested its quality.
//
// The first three must give, bit for bit, the filters of the library: the harness compares the XXH64 of their
// bytes. All are written from the specifications (xxHash, Parquet, the library's docs/spec/frame.md), none shares a line with
// the library, so this is a third implementation beside the JavaScript and the WebAssembly one.
//
// Keys are taken in groups of 32: hash all, prefetch their blocks, probe. Results are summed, not stored.
//
// usage: yardstick STORED.bytes STORED.offsets n HELDOUT.bytes HELDOUT.offsets heldOut chunkKeys start...
// Then one command a line on stdin, one answer a line on stdout:
//   build <filter> <size> <hashes>    -> <xxh64 of the filter's bytes> <stored keys found> <held-out keys found>
//   time <filter> <add|hit|miss> <ms> -> <ns per key> <keys> <found>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>
#if defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#endif

using u8 = uint8_t;
using u32 = uint32_t;
using u64 = uint64_t;

static inline u64 load64(const u8* p) { u64 x; memcpy(&x, p, 8); return x; }
static inline u32 load32(const u8* p) { u32 x; memcpy(&x, p, 4); return x; }
static inline u64 rotl(u64 x, int r) { return (x << r) | (x >> (64 - r)); }

// ---- XXH64, seed 0 (xxHash repository, doc/xxhash_spec.md) ----

static constexpr u64 P1 = 0x9E3779B185EBCA87ull, P2 = 0xC2B2AE3D27D4EB4Full, P3 = 0x165667B19E3779F9ull,
                     P4 = 0x85EBCA77C2B2AE63ull, P5 = 0x27D4EB2F165667C5ull;

static inline u64 lane(u64 acc, u64 input) { return rotl(acc + input * P2, 31) * P1; }
static inline u64 merge(u64 acc, u64 v) { return (acc ^ lane(0, v)) * P1 + P4; }

static inline u64 xxh64(const u8* p, size_t length) {
  const u8* const end = p + length;
  u64 h = P5;
  if (length >= 32) {
    u64 a = P1 + P2, b = P2, c = 0, d = 0 - P1;
    for (; p + 32 <= end; p += 32) {
      a = lane(a, load64(p));
      b = lane(b, load64(p + 8));
      c = lane(c, load64(p + 16));
      d = lane(d, load64(p + 24));
    }
    h = rotl(a, 1) + rotl(b, 7) + rotl(c, 12) + rotl(d, 18);
    h = merge(merge(merge(merge(h, a), b), c), d);
  }
  h += length;
  for (; p + 8 <= end; p += 8) h = rotl(h ^ lane(0, load64(p)), 27) * P1 + P4;
  if (p + 4 <= end) {
    h = rotl(h ^ (u64(load32(p)) * P1), 23) * P2 + P3;
    p += 4;
  }
  for (; p < end; p++) h = rotl(h ^ (*p * P5), 11) * P1;
  h = (h ^ (h >> 33)) * P2;
  h = (h ^ (h >> 29)) * P3;
  return h ^ (h >> 32);
}

// ---- a hash of wyhash's kind: speed yardstick only ----

static inline u64 fold(u64 a, u64 b) {
  const unsigned __int128 r = (unsigned __int128)a * b;
  return u64(r) ^ u64(r >> 64);
}

static inline u64 fastHash(const u8* p, size_t length) {
  constexpr u64 S0 = 0xa0761d6478bd642full, S1 = 0xe7037ed1a0b428dbull, S2 = 0x8ebc6af09c88c6e3ull;
  u64 a, b, seed = S0;
  if (length <= 16) {
    if (length >= 8) {
      a = load64(p);
      b = load64(p + length - 8);
    } else if (length >= 4) {
      a = load32(p);
      b = load32(p + length - 4);
    } else {
      a = length ? (u64(p[0]) << 16) | (u64(p[length >> 1]) << 8) | p[length - 1] : 0;
      b = 0;
    }
  } else {
    const u8* const end = p + length;
    u64 other = S1;
    for (; p + 32 < end; p += 32) { // two products side by side
      seed = fold(load64(p) ^ S1, load64(p + 8) ^ seed);
      other = fold(load64(p + 16) ^ S2, load64(p + 24) ^ other);
    }
    seed ^= other;
    if (p + 16 < end) seed = fold(load64(p) ^ S1, load64(p + 8) ^ seed);
    a = load64(end - 16);
    b = load64(end - 8);
  }
  return fold(S1 ^ length, fold(a ^ S1, b ^ seed));
}

// ---- Forge64, seed 0 (docs/spec/frame.md) ----

static inline u64 forge64(const u8* p, size_t length) {
  u64 a = 0x9E3779B97F4A7C15ull, b = length * 0xD6E8FEB86659FD93ull;
  auto step = [&](u64 w0, u64 w1) {
    const u64 u = w0 ^ rotl(w1, 32);
    a = (a ^ u) * 0xBF58476D1CE4E5B9ull;
    b = (b ^ w1 ^ rotl(u, 21)) * 0x94D049BB133111EBull;
    a ^= a >> 32;
    b ^= b >> 32;
    a += rotl(b, 17);
    b ^= rotl(a, 41);
  };
  size_t left = length;
  for (; left > 16; left -= 16, p += 16) step(load64(p), load64(p + 8));
#ifdef __SSE2__
  // Reads up to 16 bytes past the key, like the library; the files that are mapped here are padded.
  const __m128i kept = _mm_cmplt_epi8(_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                      _mm_set1_epi8(static_cast<char>(left)));
  const __m128i tail = _mm_and_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)), kept);
  step(static_cast<u64>(_mm_cvtsi128_si64(tail)), static_cast<u64>(_mm_cvtsi128_si64(_mm_unpackhi_epi64(tail, tail))));
#else
  u8 tail[16] = {0};
  memcpy(tail, p, left);
  step(load64(tail), load64(tail + 8));
#endif
  u64 h = a ^ (b * 0xD6E8FEB86659FD93ull);
  h = (h ^ (h >> 32)) * 0xFF51AFD7ED558CCDull;
  h = (h ^ (h >> 29)) * 0xC4CEB9FE1A85EC53ull;
  return h ^ (h >> 32);
}

struct Forge64 { static u64 hash(const u8* p, size_t n) { return forge64(p, n); } };
struct Xxh64 { static u64 hash(const u8* p, size_t n) { return xxh64(p, n); } };
struct Fast { static u64 hash(const u8* p, size_t n) { return fastHash(p, n); } };

// ---- keys ----

struct Keys {
  const u8* bytes;
  const u32* offsets;
  size_t count;
};

static constexpr size_t GROUP = 32;
static constexpr size_t CACHE = 1 << 19; // bytes of filter up to which prefetching costs more than it gains

// ---- filters ----

struct Filter {
  std::unique_ptr<u8, void (*)(void*)> memory{nullptr, free};
  size_t bytes = 0;
  virtual ~Filter() = default;
  virtual void add(const Keys& keys) = 0;
  virtual size_t has(const Keys& keys) const = 0;
  void allocate(size_t wanted, size_t room) {
    bytes = wanted;
    memory.reset(static_cast<u8*>(aligned_alloc(64, (room + 63) & ~size_t(63))));
    memset(memory.get(), 0, room);
  }
  void clear() { memset(memory.get(), 0, bytes); }
};

// Hash 32 keys, prefetch, work on them: common to all layouts.
template <class Layout, class Hash> struct Grouped : Filter {
  Layout layout;
  template <class Work> void each(const Keys& keys, Work work) const {
    u64 hashes[GROUP];
    const bool far = bytes > CACHE;
    for (size_t from = 0; from < keys.count; from += GROUP) {
      const size_t n = std::min(GROUP, keys.count - from);
      for (size_t i = 0; i < n; i++) {
        const u32 start = keys.offsets[from + i];
        hashes[i] = Hash::hash(keys.bytes + start, keys.offsets[from + i + 1] - start);
      }
      if (far) for (size_t i = 0; i < n; i++) layout.prefetch(memory.get(), hashes[i]);
      for (size_t i = 0; i < n; i++) work(hashes[i]);
    }
  }
  void add(const Keys& keys) override {
    u8* const base = memory.get();
    each(keys, [&](u64 h) { layout.add(base, h); });
  }
  size_t has(const Keys& keys) const override {
    const u8* const base = memory.get();
    size_t found = 0;
    each(keys, [&](u64 h) { found += layout.has(base, h); });
    return found;
  }
};

struct Split {
  u64 blocks;
  static constexpr u32 SALT[8] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                  0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};
  size_t at(u64 h) const { return (((h >> 32) * blocks) >> 32) * 32; }
  void prefetch(const u8* base, u64 h) const { __builtin_prefetch(base + at(h)); }
#ifdef __AVX2__
  static __m256i mask(u64 h) {
    const __m256i salt = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(SALT));
    const __m256i n = _mm256_srli_epi32(_mm256_mullo_epi32(_mm256_set1_epi32(int(u32(h))), salt), 27);
    return _mm256_sllv_epi32(_mm256_set1_epi32(1), n);
  }
  bool has(const u8* base, u64 h) const {
    return _mm256_testc_si256(_mm256_load_si256(reinterpret_cast<const __m256i*>(base + at(h))), mask(h));
  }
  void add(u8* base, u64 h) const {
    __m256i* const p = reinterpret_cast<__m256i*>(base + at(h));
    _mm256_store_si256(p, _mm256_or_si256(_mm256_load_si256(p), mask(h)));
  }
#else
  bool has(const u8* base, u64 h) const {
    u32 missing = 0;
    for (int i = 0; i < 8; i++) missing |= ~load32(base + at(h) + 4 * i) & (1u << ((u32(h) * SALT[i]) >> 27));
    return missing == 0;
  }
  void add(u8* base, u64 h) const {
    u32* const p = reinterpret_cast<u32*>(base + at(h));
    for (int i = 0; i < 8; i++) p[i] |= 1u << ((u32(h) * SALT[i]) >> 27);
  }
#endif
};

struct Block {
  u64 blocks;
  u32 k;
  static constexpr u64 M = 0x9e3779b97f4a7c15ull;
  size_t at(u64 h) const { return (((h >> 32) * blocks) >> 32) * 64; }
  void prefetch(const u8* base, u64 h) const { __builtin_prefetch(base + at(h)); }
  // Six nine-bit probes from each v: five bits for the bit, four for the word.
  template <class Probe> static void each(u64 h, u32 k, Probe probe) {
    static constexpr int SHIFT[6] = {55, 46, 37, 23, 14, 5};
    u64 v = h;
    u32 left = k;
    for (; left >= 6; left -= 6) {
      v = (v ^ (v >> 32)) * M;
      for (int i = 0; i < 6; i++) probe((v >> SHIFT[i]) & 511);
    }
    v = (v ^ (v >> 32)) * M;
    for (u32 i = 0; i < left; i++) probe((v >> SHIFT[i]) & 511);
  }
  bool has(const u8* base, u64 h) const {
    const u32* const block = reinterpret_cast<const u32*>(base + at(h));
    u32 r = 1;
    each(h, k, [&](u64 bit) { r &= block[bit >> 5] >> (bit & 31); });
    return r & 1;
  }
  void add(u8* base, u64 h) const {
    u32* const block = reinterpret_cast<u32*>(base + at(h));
    each(h, k, [&](u64 bit) { block[bit >> 5] |= 1u << (bit & 31); });
  }
};

struct Classic {
  u64 bits;
  u32 k;
  u64 index(u64 h, u32 i) const {
    const u32 a = u32(h), b = u32(h >> 32);
    u32 x = a + i * b;
    x ^= x >> 16;
    x *= 0x7feb352d;
    x ^= x >> 15;
    x *= 0x846ca68b;
    const u64 y = (b + 2 * i * a) >> 16;
    return (x * bits + ((y * bits) >> 16)) >> 32;
  }
  // Seven lines a key: computing the indices twice costs less than waiting for one line.
  void prefetch(const u8* base, u64 h) const {
    for (u32 i = 0; i < k; i++) __builtin_prefetch(base + (index(h, i) >> 3));
  }
  bool has(const u8* base, u64 h) const { // no branch: a misprediction costs more than the probes it saves
    u32 r = 1;
    for (u32 i = 0; i < k; i++) {
      const u64 bit = index(h, i);
      r &= base[bit >> 3] >> (bit & 7);
    }
    return r;
  }
  void add(u8* base, u64 h) const {
    for (u32 i = 0; i < k; i++) {
      const u64 bit = index(h, i);
      base[bit >> 3] |= u8(1u << (bit & 7));
    }
  }
};

static std::unique_ptr<Filter> make(const std::string& name, u64 size, u32 k) {
  if (name == "split") {
    auto f = std::make_unique<Grouped<Split, Xxh64>>();
    f->layout = {size};
    f->allocate(size * 32, size * 32);
    return f;
  }
  if (name == "fast") {
    auto f = std::make_unique<Grouped<Split, Fast>>();
    f->layout = {size};
    f->allocate(size * 32, size * 32);
    return f;
  }
  if (name == "block") {
    auto f = std::make_unique<Grouped<Block, Forge64>>();
    f->layout = {size, k};
    f->allocate(size * 64, size * 64);
    return f;
  }
  auto f = std::make_unique<Grouped<Classic, Forge64>>();
  f->layout = {size, k};
  f->allocate((size + 7) / 8, (size + 7) / 8 + 8);
  return f;
}

// ---- commands ----

static const u8* mapFile(const char* path) {
  const int file = open(path, O_RDONLY);
  struct stat info;
  if (file < 0 || fstat(file, &info) != 0) {
    perror(path);
    exit(1);
  }
  // A page of zeros follows: the hash may read some bytes past the last key.
  const size_t room = static_cast<size_t>(info.st_size) + 4096;
  void* const p = mmap(nullptr, room, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool mapped = p != MAP_FAILED && (info.st_size == 0 ||
      mmap(p, info.st_size, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0) != MAP_FAILED);
  if (!mapped) {
    perror(path);
    exit(1);
  }
  close(file);
  return static_cast<const u8*>(p);
}

// A copy of a range in memory of its own, so that queries do not read a mapped file.
struct Sample {
  std::vector<u8> bytes;
  std::vector<u32> offsets;
  Sample(const Keys& keys, size_t start, size_t count) : offsets(count + 1) {
    const u32 first = keys.offsets[start];
    bytes.assign(keys.bytes + first, keys.bytes + keys.offsets[start + count]);
    for (size_t i = 0; i <= count; i++) offsets[i] = keys.offsets[start + i] - first;
  }
  Keys keys() const { return {bytes.data(), offsets.data(), offsets.size() - 1}; }
};

struct Pair {
  std::unique_ptr<Filter> full, scratch;
  size_t next[3] = {0, 0, 0};
};

int main(int argc, char** argv) {
  // Vectors of the specification's reference implementation, seed 0.
  if (forge64(reinterpret_cast<const u8*>("a\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), 1) != 0x30ffbeac30a6c05aull) {
    fprintf(stderr, "yardstick: Forge64 does not give its known value\n");
    return 1;
  }
  if (xxh64(nullptr, 0) != 0xef46db3751d8e999ull || xxh64(reinterpret_cast<const u8*>("abc"), 3) != 0x44bc2cf5ad770999ull) {
    fprintf(stderr, "yardstick: XXH64 does not give its published values\n");
    return 1;
  }
  if (argc < 9) {
    fprintf(stderr, "usage: see the head of yardstick.cpp\n");
    return 1;
  }
  const Keys stored{mapFile(argv[1]), reinterpret_cast<const u32*>(mapFile(argv[2])), strtoull(argv[3], nullptr, 10)};
  const Keys heldOut{mapFile(argv[4]), reinterpret_cast<const u32*>(mapFile(argv[5])), strtoull(argv[6], nullptr, 10)};
  const size_t chunk = strtoull(argv[7], nullptr, 10);
  std::vector<Sample> hits, misses;
  for (int i = 8; i < argc; i++) {
    hits.emplace_back(stored, strtoull(argv[i], nullptr, 10), chunk);
    misses.emplace_back(heldOut, chunk * (i - 8), chunk);
  }

  std::map<std::string, Pair> filters;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command, name;
    words >> command >> name;
    Pair& pair = filters[name];
    if (command == "build") {
      u64 size;
      u32 k;
      words >> size >> k;
      pair.full = make(name, size, k);
      pair.scratch = make(name, size, k);
      pair.full->add(stored);
      printf("%016llx %zu %zu\n", (unsigned long long)xxh64(pair.full->memory.get(), pair.full->bytes),
             pair.full->has(stored), pair.full->has(heldOut));
    } else if (command == "time") {
      std::string action;
      double budget;
      words >> action >> budget;
      const bool adds = action == "add";
      const std::vector<Sample>& samples = action == "miss" ? misses : hits;
      size_t& next = pair.next[adds ? 0 : action == "hit" ? 1 : 2];
      double spent = 0;
      size_t keys = 0, found = 0;
      bool settled = false; // the first milliseconds do not count: others have used the caches meanwhile
      while (!settled || spent < budget * 1e6) {
        if (adds && next % samples.size() == 0) pair.scratch->clear();
        const Keys part = samples[next++ % samples.size()].keys();
        const auto before = std::chrono::steady_clock::now();
        if (adds) pair.scratch->add(part);
        else found += pair.full->has(part);
        spent += std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - before).count();
        keys += part.count;
        if (!settled && spent >= 1e6) {
          settled = true;
          spent = 0;
          keys = found = 0;
        }
      }
      printf("%.4f %zu %zu\n", spent / double(keys), keys, found);
    }
    fflush(stdout);
  }
}
