// @peerbit/riblt in a process of its own, because it overwrites `globalThis.fetch` when it is
// loaded. Both sides are here: they add their keys as 64-bit symbols, and the decoder takes coded
// symbols one by one until it has decoded. Keys are hashed to 64 bits by SipHash, as ours are.
// Arguments: n, d, rounds. Prints a JSON line per round.

import { hashKeys, SecretKey } from 'bloomery';

const [n, d, rounds] = process.argv.slice(2).map(Number);
const { DecoderWrapper, EncoderWrapper, ready } = await import('@peerbit/riblt');
await ready;

const { scheme } = new SecretKey(Uint8Array.from({ length: 16 }, (_, i) => i));
/** @param {number} tag @param {number} from @param {number} end */
const keysOf = (tag, from, end) => Array.from({ length: end - from }, (_, i) => `${tag}/${from + i}`);
/** @param {string[]} keys */
const symbolsOf = (keys) => {
  const { words } = hashKeys(keys, scheme);
  return new BigUint64Array(words.slice().buffer);
};

for (let round = 0; round < rounds; round++) {
  const half = d >> 1;
  const common = keysOf(round, 0, n - half);
  const a = [...common, ...keysOf(round, n, n + half)];
  const b = [...common, ...keysOf(round, n + half, n + d)];
  const start = process.cpuUsage();
  const encoder = new EncoderWrapper();
  for (const symbol of symbolsOf(b)) encoder.add_symbol(symbol);
  const decoder = new DecoderWrapper();
  for (const symbol of symbolsOf(a)) decoder.add_symbol(symbol);
  let symbols = 0;
  while (!(symbols > 0 && decoder.decoded())) {
    decoder.add_coded_symbol(encoder.produce_next_coded_symbol());
    decoder.try_decode();
    symbols++;
  }
  const found = decoder.get_local_symbols().length + decoder.get_remote_symbols().length;
  const { user, system } = process.cpuUsage(start);
  // A coded symbol is 8 bytes of sum, 8 of hash and a varint of the count, which we take as 1.
  console.log(
    JSON.stringify({ bytes: 17 * symbols, cpuMs: (user + system) / 1000, exact: found === 2 * half }),
  );
  encoder.free();
  decoder.free();
}
