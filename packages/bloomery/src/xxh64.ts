/**
 * The entry `bloomery/xxh64`: importing it makes `hash: 'xxh64'` available in a bundle. Programs
 * that Node runs without a bundler have it from the entry `bloomery` already.
 */

import { parquetHash } from './hashing/xxh64-scheme.ts';

// A bundler keeps a module if something of it is used, so this call keeps the registration.
parquetHash();

export { parquetHash };
