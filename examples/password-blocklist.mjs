// A sign-up form refuses passwords that everybody uses, and those one character away from them. The server does not keep
// the list, only a file of some bits a word, built once and loaded when it starts.

import assert from 'node:assert/strict';
import { PasswordBlocklist } from '@bloomery/stores/passwords';

// Built once, from any list; here of pretended words. At most one good password in 10,000 is refused by mistake.
const words = [
  'password',
  'letmein',
  'sunshine',
  'Straße1',
  ...Array.from({ length: 50_000 }, (_, i) => `word${i * 7919}`),
];
const file = PasswordBlocklist.from(words, { refusalRate: 1e-4 }).encode();

// In the server: read when it starts, asked at every sign-up. An unreadable file is an error, not an empty list.
const blocklist = PasswordBlocklist.decode(file);
const mayChoose = (password) => {
  const { refused, reason } = blocklist.refuses(password);
  if (!refused) return { ok: true };
  return { ok: false, why: reason === 'near' ? 'too close to a common password' : 'a common password' };
};

assert.deepEqual(mayChoose('Sunshine'), { ok: false, why: 'a common password' });
assert.deepEqual(mayChoose('p4ssword'), { ok: false, why: 'too close to a common password' });
assert.deepEqual(mayChoose('STRASSE1'), { ok: false, why: 'a common password' });
assert.deepEqual(mayChoose('correct horse battery staple'), { ok: true });

// How much that costs, and how often it is wrong.
const rate = blocklist.estimatedRefusalRate(12);
assert.ok(rate <= 1e-4);
console.log(
  `${blocklist.words} words in ${file.length} bytes, ${((8 * file.length) / blocklist.words).toFixed(1)} bits a word;`,
  `${blocklist.mostLookups(12)} lookups for 12 characters, ${(100 * rate).toFixed(4)} % refused by mistake`,
);
