// "Certainly not in", with proof, from a copy that anyone holds.
//
// A publisher signs the filter of its set once. A holder that the client does not trust keeps a
// copy and answers questions. A client that has nothing but the publisher's public key checks each
// answer: one zero among the bits of a name proves that the name is not in the set, because a
// filter has no false negatives. The holder sends the 64 bytes around that zero and the hashes
// that connect them with the signature (docs/spec/signature.md).
//
// DNSSEC has proofs of absence as well, NSEC3. The last part computes the bytes of such a proof
// from the layouts in RFC 4034 and RFC 5155, for the zone that is described there.
//
// All printed figures are measured or computed in this run, and the required properties asserted.

import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { BloomFilter, readFrameLayout } from 'bloomery';
import {
  LeafTree,
  readPublicKey,
  signFrame,
  verifyFrame,
  verifyLeaf,
  verifySignature,
} from 'bloomery/signing';

const NAMES = 1_000_000;
const RATE = 0.01;
const ASKED = 2000;
const nameOf = (i) => `host-${i}.example`;
/** Type, class, time to live and the length of the data of a record (RFC 1035, section 3.2.1). */
const FIXED_FIELDS = 2 + 2 + 4 + 2;
const TYPE_RRSIG = 46;
const TYPE_NSEC3PARAM = 51;
const sha256 = (bytes) => createHash('sha256').update(bytes).digest();

// The publisher: a pair of keys, a filter, a signature. It can be offline from here on.
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const set = BloomFilter.forCapacity({ capacity: NAMES, falsePositiveRate: RATE });
set.addMany(Array.from({ length: NAMES }, (_, i) => nameOf(i)));
const published = {
  frame: set.encode(),
  signature: await signFrame(set.encode(), {
    epoch: 7,
    name: 'example',
    proofs: true,
    sign: (message) => sign(null, message, privateKey),
    sha256,
  }),
};

// The holder: a copy of both, and the tree over the copy. It has no key.
class Holder {
  constructor({ frame, signature }, tree) {
    this.frame = frame;
    this.signature = signature;
    this.tree = tree;
    this.layout = readFrameLayout(frame);
  }

  /** The proof of the parameters, which a client needs once. */
  parameters() {
    return this.tree.prove(0);
  }

  /** A proof that the name is not in the set, or undefined: then it may be in. */
  deny(name) {
    const bit = this.layout.bitOffsets([name]).find((place) => isZero(this.frame, place));
    return bit === undefined ? undefined : this.tree.prove(Math.floor(bit / 8));
  }
}
const holder = new Holder(published, await LeafTree.of(published.frame, { sha256 }));

// The client: a public key. It learns the statement and the parameters once, then checks answers.
class Client {
  constructor(key) {
    this.keys = [readPublicKey(key)];
    this.received = 0;
  }

  async begin(signature, parameters) {
    this.received += signature.length + parameters.length;
    this.statement = await verifySignature(signature, { keys: this.keys, name: 'example', atLeastEpoch: 7 });
    const { offset, bytes } = await verifyLeaf(this.statement, parameters);
    assert.equal(offset, 0);
    this.layout = readFrameLayout(bytes);
  }

  /** Whether the proof shows that the name is not in the set. Throws if the proof is forged. */
  async isProvenAbsent(name, proof) {
    const { offset, bytes } = await verifyLeaf(this.statement, proof);
    return this.layout.bitOffsets([name]).some((place) => {
      const inside = place - 8 * offset;
      return inside >= 0 && inside < 8 * bytes.length && isZero(bytes, inside);
    });
  }
}
const client = new Client(publicKey.export({ type: 'spki', format: 'pem' }));
await client.begin(holder.signature, holder.parameters());
const once = client.received;

// Names that are not in the set. About one in a hundred cannot be denied: the filter says "maybe".
let [denied, answerBytes] = [0, 0];
for (let i = 0; i < ASKED; i++) {
  const name = nameOf(NAMES + i);
  const proof = holder.deny(name);
  if (proof === undefined) continue;
  assert.ok(await client.isProvenAbsent(name, proof), 'an honest proof is accepted');
  denied++;
  answerBytes = Math.max(answerBytes, proof.length);
}
const maybe = ASKED - denied;
const sigma = Math.sqrt(ASKED * RATE * (1 - RATE));
assert.ok(Math.abs(maybe - ASKED * RATE) < 5 * sigma, `${maybe} of ${ASKED} cannot be denied`);

// A name that is in the set cannot be denied: not honestly, not with the proof of another name, and
// not with a bit that was cleared.
assert.equal(holder.deny(nameOf(5)), undefined);
const borrowed = holder.deny(nameOf(NAMES + 1));
assert.equal(await client.isProvenAbsent(nameOf(5), borrowed), false);
const [place] = client.layout.bitOffsets([nameOf(5)]);
const forged = holder.tree.prove(Math.floor(place / 8));
forged[4 + (Math.floor(place / 8) % 64)] &= ~(1 << (place % 8));
await assert.rejects(client.isProvenAbsent(nameOf(5), forged), { code: 'proof' });

// An older copy is refused by its epoch.
const old = await signFrame(published.frame, {
  epoch: 6,
  name: 'example',
  proofs: true,
  sign: (message) => sign(null, message, privateKey),
  sha256,
});
await assert.rejects(
  new Client(publicKey.export({ type: 'spki', format: 'pem' })).begin(old, holder.parameters()),
  {
    code: 'stale',
  },
);

// The other way: a client downloads the whole filter and asks no one afterwards.
const whole = BloomFilter.decode(await verifyFrame(client.statement, published.frame));
assert.ok(whole.has(nameOf(5)));

print('names in the set', NAMES.toLocaleString('en'));
print('the filter', bytesOf(published.frame.length));
print('its signature', bytesOf(published.signature.length));
print('absent names with a proof', `${denied} of ${ASKED}; the filter says "maybe" to the other ${maybe}`);
console.log('\na client that holds no copy');
print('once: signature, parameters', bytesOf(once));
print('each proof, at most', bytesOf(answerBytes));
console.log('\na client that downloads the filter');
print('once: signature, filter', bytesOf(published.signature.length + published.frame.length));
print('each answer', bytesOf(0));

console.log(`\nNSEC3: the zone "example." with ${NAMES.toLocaleString('en')} names of types A and AAAA, no salt,
names compressed where the RFCs allow it, without the SOA record, the question and the header`);
for (const [algorithm, signatureBytes] of [
  ['ECDSA P-256 or Ed25519', 64], // RFC 6605, section 4; RFC 8080, section 4
  ['RSA, 2048 bits', 256], // RFC 3110, section 3: as long as the modulus
]) {
  const zone = 'example.';
  // Name error (RFC 5155, section 7.2.2): the closest encloser, which is the top of the zone, and
  // two records that cover the next closer name and the wildcard.
  const top = nsec3Bytes({ highestType: TYPE_NSEC3PARAM });
  const cover = nsec3Bytes({ highestType: TYPE_RRSIG });
  const proof = top + 2 * cover + 3 * rrsigBytes(zone, signatureBytes);
  print(algorithm, bytesOf(proof));
  print('  a holder keeps, for all', bytesOf(NAMES * (cover + rrsigBytes(zone, signatureBytes))));
}
console.log(`
NSEC3 denies every absent name, also single types of a name, and each proof stands alone. The filter denies
all but ${100 * RATE} %, and its proofs need the ${once} bytes before. Both let the holder test guesses.`);

/** A record of type NSEC3, with the zone as a pointer of two bytes in its owner name. */
function nsec3Bytes({ highestType }) {
  const owner = 1 + 32 + 2; // a label of 32 characters: 20 bytes of SHA-1 in base32
  // RFC 5155, section 3.2. The 0 is the salt, the 20 a hash.
  const rdata = 1 + 1 + 2 + 1 + 0 + 1 + 20 + typeBitmapBytes(highestType);
  return owner + FIXED_FIELDS + rdata;
}

/** A record of type RRSIG, whose owner is a pointer. Its signer must not be compressed. */
function rrsigBytes(signer, signatureBytes) {
  // RFC 4034, section 3.1.
  const rdata = 2 + 1 + 1 + 4 + 4 + 4 + 2 + wireName(signer) + signatureBytes;
  return 2 + FIXED_FIELDS + rdata;
}

/** One window of types: its number, its length, a bit for each type (RFC 4034, section 4.1.2). */
function typeBitmapBytes(highestType) {
  return 1 + 1 + Math.ceil((highestType + 1) / 8);
}

function wireName(name) {
  return name.split('.').reduce((sum, label) => sum + 1 + label.length, 0);
}

function isZero(bytes, bit) {
  return (bytes[Math.floor(bit / 8)] & (1 << (bit % 8))) === 0;
}

function bytesOf(count) {
  return `${count.toLocaleString('en')} bytes`;
}

function print(name, value) {
  console.log(`  ${`${name} `.padEnd(32, '.')} ${value}`);
}
