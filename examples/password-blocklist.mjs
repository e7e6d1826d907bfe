// A sign-up form refuses common passwords, and passwords one character away from them. The server
// does not keep the list, only a file with a few bits per word, which is built once and loaded when
// the server starts.

import assert from 'node:assert/strict';
import { PasswordBlocklist } from '@bloomery/stores/passwords';

// Built once, from any list; here from invented words. At most one good password in 10,000 is
// refused by mistake.
const words = [
  'password',
  'letmein',
  'sunshine',
  'Straße1',
  ...Array.from({ length: 50_000 }, (_, i) => `word${i * 7919}`),
];
const file = PasswordBlocklist.from(words, { refusalRate: 1e-4 }).encode();

// The server reads the file when it starts, and queries it at every sign-up. An unreadable file is
// an error, not an empty list.
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

// The cost of a check, and the rate of wrong refusals.
const rate = blocklist.estimatedRefusalRate(12);
assert.ok(rate <= 1e-4);
console.log(
  `${blocklist.words} words in ${file.length} bytes, ${((8 * file.length) / blocklist.words).toFixed(1)} bits a word;`,
  `${blocklist.mostLookups(12)} lookups for 12 characters, ${(100 * rate).toFixed(4)} % refused by mistake`,
);
