// Negentropy version 1 by the JavaScript of nostr-tools, which ships it without an export. Items
// are 32-byte ids (SHA-256 of the keys) at random times, which is its worst case, and the answers
// go to and fro until nothing is left. This code is a client's: a side that hears a list of ids
// learns from it and does not answer it, so some differences are known to one side only. Its bytes
// are a lower bound. Arguments: n, d, rounds. Prints a JSON line per round.

import { createHash } from 'node:crypto';

const [n, d, rounds] = process.argv.slice(2).map(Number);
const { Negentropy, NegentropyStorageVector } = await import(
  new URL('../node_modules/nostr-tools/lib/esm/nip77.js', import.meta.url).href
);

for (let round = 0; round < rounds; round++) {
  const half = d >> 1;
  /** @param {number} i */
  const id = (i) => createHash('sha256').update(`${round}/${i}`).digest('hex');
  /** @param {[number, number][]} ranges */
  const storage = (ranges) => {
    const vector = new NegentropyStorageVector();
    for (const [from, end] of ranges)
      for (let i = from; i < end; i++) {
        const name = id(i);
        vector.insert(Number.parseInt(name.slice(0, 8), 16), name);
      }
    vector.seal();
    return vector;
  };
  const a = storage([
    [0, n - half],
    [n, n + half],
  ]);
  const b = storage([
    [0, n - half],
    [n + half, n + d],
  ]);
  const start = process.cpuUsage();
  const [here, there] = [new Negentropy(a), new Negentropy(b)];
  const found = new Set();
  const add = (/** @type {string} */ each) => found.add(each);
  let message = here.initiate();
  let [bytes, trips] = [0, 0];
  while (message && trips < 1000) {
    trips++;
    const answer = there.reconcile(message, add, add);
    bytes += (message.length + (answer ?? '').length) / 2;
    message = answer && here.reconcile(answer, add, add);
  }
  const { user, system } = process.cpuUsage(start);
  const exact = found.size === d;
  console.log(JSON.stringify({ bytes, trips, cpuMs: (user + system) / 1000, exact }));
}
