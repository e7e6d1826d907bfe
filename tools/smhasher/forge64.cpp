/*
 * Forge64, the hash of Bloomery's filters, for the test suite SMHasher3.
 * Copyright (C) 2026 The Bloomery authors
 * SPDX-License-Identifier: MIT
 *
 * Written from docs/spec/frame.md against the registration interface that SMHasher3 describes in
 * its hashes/README.addinghashes.md. How to test it is in docs/notes/hash.md. The two verification
 * values bind this file to the library: forge64.test.ts asserts the same little-endian value for
 * the JavaScript and the WebAssembly version.
 */
#include "Platform.h"
#include "Hashlib.h"

static const uint64_t K0 = UINT64_C(0x9e3779b97f4a7c15);
static const uint64_t K1 = UINT64_C(0xbf58476d1ce4e5b9);
static const uint64_t K2 = UINT64_C(0x94d049bb133111eb);
static const uint64_t K3 = UINT64_C(0xd6e8feb86659fd93);
static const uint64_t K4 = UINT64_C(0xff51afd7ed558ccd);
static const uint64_t K5 = UINT64_C(0xc4ceb9fe1a85ec53);

template <bool bswap>
static void forge64( const void * in, const size_t len, const seed_t seed, void * out ) {
    const uint8_t * p    = (const uint8_t *)in;
    size_t          left = len;
    uint64_t        a    = (uint64_t)seed ^ K0;
    uint64_t        b    = ROTL64((uint64_t)seed, 32) ^ ((uint64_t)len * K3);

    for (;;) {
        uint8_t last[16] = { 0 };
        if (left < 16) {
            memcpy(last, p, left);
            p = last;
        }
        const uint64_t w0 = GET_U64<bswap>(p, 0);
        const uint64_t w1 = GET_U64<bswap>(p, 8);
        const uint64_t u  = w0 ^ ROTL64(w1, 32);
        const uint64_t v  = w1 ^ ROTL64(u , 21);
        a  = (a ^ u) * K1;
        b  = (b ^ v) * K2;
        a ^= a >> 32;
        b ^= b >> 32;
        a += ROTL64(b, 17);
        b ^= ROTL64(a, 41);
        if (left <= 16) { break; }
        p    += 16;
        left -= 16;
    }

    uint64_t h = a ^ (uint64_t)seed ^ (b * K3);
    h ^= h >> 32;
    h *= K4;
    h ^= h >> 29;
    h *= K5;
    h ^= h >> 32;
    PUT_U64<bswap>(h, (uint8_t *)out, 0);
}

REGISTER_FAMILY(forge64,
   $.src_url    = "https://www.npmjs.com/package/bloomery",
   $.src_status = HashFamilyInfo::SRC_FROZEN
 );

REGISTER_HASH(Forge64,
   $.desc       = "Forge64, the hash of Bloomery's filters",
   $.hash_flags =
         FLAG_HASH_ENDIAN_INDEPENDENT,
   $.impl_flags =
         FLAG_IMPL_CANONICAL_LE        |
         FLAG_IMPL_MULTIPLY_64_64      |
         FLAG_IMPL_ROTATE              |
         FLAG_IMPL_LICENSE_MIT,
   $.bits = 64,
   $.verification_LE = 0xEB6DA71F,
   $.verification_BE = 0xFC4D7A33,
   $.hashfn_native   = forge64<false>,
   $.hashfn_bswap    = forge64<true>
 );
