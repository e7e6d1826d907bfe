import { nonceClock } from '@bloomery/testkit/transport/nonce-clock';
import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { expect, test } from 'vitest';
import { FleetKeyring } from '../fleet-keyring.ts';
import { isNodeId, nonceOf, RequestSigner, RequestVerifier, type SignableRequest } from './signature.ts';

const secret = Uint8Array.from({ length: 32 }, (_, i) => i);
const get: SignableRequest = { method: 'GET', target: '/.bloomery/peers/stream', host: '[::1]:3129' };
const post: SignableRequest = {
  method: 'POST',
  target: '/.bloomery/peers/ask?topic=owner',
  host: 'b.example:3129',
  body: new TextEncoder().encode('question'),
};

function pair(skewMs = 0) {
  const clock = new VirtualClock();
  const senders = new VirtualClock({ now: clock.now() + skewMs, seed: 2 });
  return {
    clock,
    signer: new RequestSigner(secret, 'a.example', senders),
    verifier: new RequestVerifier(secret, clock),
  };
}

test('RequestVerifier accepts what a RequestSigner of the same fleet signed', () => {
  const { signer, verifier } = pair();
  for (const request of [get, post]) {
    const field = signer.sign(request);
    expect(verifier.verify({ ...request, field })).toMatchObject({
      node: 'a.example',
      nonce: nonceOf(field),
    });
  }
});

test('RequestSigner writes the bytes of the specification', () => {
  const clock = nonceClock(1_700_000_000_000, ['sd73u-YYM1OLKQlJ', '4G23ifPeEuA9S36h']);
  const signer = new RequestSigner(secret, 'a.example', clock);
  expect([signer.sign(get), signer.sign(post)]).toMatchInlineSnapshot(`
    [
      "v=1; node=a.example; t=1700000000000; n=sd73u-YYM1OLKQlJ; mac=OJOfQ-uADc6SlvvUEatdGzF2IubX91qVGGzXFMcRitw",
      "v=1; node=a.example; t=1700000000000; n=4G23ifPeEuA9S36h; b=H1CH25Gc7VwSPH9QfT_M6BjLDPbnfC-VqKNelR4D_bk; mac=GqSTOaJ7kZ2_lCaXh8-N6TPj5fZUtK58wnvIq1wle3Y",
    ]
  `);
});

test('RequestVerifier refuses a request of which any part was changed', () => {
  const { signer, verifier } = pair();
  const field = signer.sign(post);
  const changes: Partial<SignableRequest & { field: string }>[] = [
    { method: 'PUT' },
    { target: '/.bloomery/peers/ask?topic=other' },
    { host: 'c.example:3129' },
    { field: field.replace('a.example', 'x.example') },
    { field: field.replace('t=17', 't=18') },
    { field: field.replace(/n=./, 'n=_') },
    { field: field.replace(/ b=[^;]*;/, '') },
    { field: field.replace(/mac=.*/, 'mac=') },
  ];
  for (const change of changes)
    expect(verifier.verify({ ...post, field, ...change }), JSON.stringify(change)).toEqual({
      refused: 'signature',
    });
  expect(verifier.verify({ ...post, field, body: new Uint8Array(8) })).toEqual({ refused: 'body' });
  expect(verifier.verify({ ...post, field })).toMatchObject({ node: 'a.example' });
});

test('RequestVerifier refuses another secret', () => {
  const { signer, clock } = pair();
  const other = new RequestVerifier(secret.slice(1), clock);
  expect(other.verify({ ...get, field: signer.sign(get) })).toEqual({ refused: 'signature' });
});

test('RequestVerifier accepts each secret of its keyring as it is now, and says which one signed', () => {
  const clock = new VirtualClock();
  const [older, newer] = [secret, secret.slice(1)];
  const keyring = new FleetKeyring([older, newer]);
  const verifier = new RequestVerifier(keyring, clock);
  const signers = [older, newer].map((each, seed) => {
    return new RequestSigner(each, 'a.example', new VirtualClock({ now: clock.now(), seed }));
  });
  const verdicts = () => signers.map((signer) => verifier.verify({ ...get, field: signer.sign(get) }));
  const [first, second] = keyring.all;
  expect(verdicts()).toMatchObject([{ keys: first }, { keys: second }]);
  keyring.change([newer]);
  expect(verdicts()).toMatchObject([{ refused: 'signature' }, { keys: second }]);
});

test('RequestSigner signs under the first secret, or under the one that it is given', () => {
  const clock = new VirtualClock();
  const keyring = new FleetKeyring([secret.slice(1), secret]);
  const signer = new RequestSigner(keyring, 'a.example', clock);
  const verifier = new RequestVerifier(keyring, clock);
  for (const keys of keyring.all)
    expect(verifier.verify({ ...get, field: signer.sign(get, keys) })).toMatchObject({ keys });
  expect(verifier.verify({ ...get, field: signer.sign(get) })).toMatchObject({ keys: keyring.first });
});

test('RequestVerifier lets the body come after the head', () => {
  const { signer, verifier } = pair();
  const verdict = verifier.verify({ ...post, body: undefined, field: signer.sign(post) });
  expect(verdict).toMatchObject({ bodyDigest: 'H1CH25Gc7VwSPH9QfT_M6BjLDPbnfC-VqKNelR4D_bk' });
});

test('RequestVerifier refuses a request that names another receiver, and accepts one that names none', () => {
  const { signer, clock } = pair();
  const [own, other] = ['b.example', 'c.example'].map((id) => new RequestVerifier(secret, clock, { id })) as [
    RequestVerifier,
    RequestVerifier,
  ];
  const field = signer.sign({ ...get, to: 'b.example' });
  expect(field).toContain('; to=b.example;');
  expect(other.verify({ ...get, field })).toEqual({ refused: 'receiver' });
  const renamed = field.replace('b.example', 'c.example');
  const unnamed = field.replace(' to=b.example;', '');
  for (const changed of [renamed, unnamed])
    expect(other.verify({ ...get, field: changed }), changed).toEqual({ refused: 'signature' });
  expect(own.verify({ ...get, field })).toMatchObject({ node: 'a.example' });
  expect(other.verify({ ...get, field: signer.sign(get) })).toMatchObject({ node: 'a.example' });
});

test('RequestVerifier accepts a request once', () => {
  const { signer, verifier } = pair();
  const field = signer.sign(get);
  verifier.verify({ ...get, field });
  expect(verifier.verify({ ...get, field })).toEqual({ refused: 'replayed' });
});

test('RequestVerifier accepts clocks that are 30 s apart, and says so if they are further apart', async () => {
  for (const skewMs of [-30_000, 30_000]) {
    const { signer, verifier } = pair(skewMs);
    expect(verifier.verify({ ...get, field: signer.sign(get) })).toMatchObject({ node: 'a.example' });
  }
  for (const skewMs of [-30_001, 30_001]) {
    const { signer, verifier } = pair(skewMs);
    expect(verifier.verify({ ...get, field: signer.sign(get) })).toEqual({ refused: 'clock' });
  }
});

test('RequestVerifier refuses a replay for as long as its time is in the window, and after', async () => {
  const { signer, verifier, clock } = pair(30_000);
  const field = signer.sign(get);
  verifier.verify({ ...get, field });
  for (let s = 0; s < 60; s++) {
    await clock.advance(1000);
    expect(verifier.verify({ ...get, field })).toEqual({ refused: 'replayed' });
  }
  await clock.advance(1);
  expect(verifier.verify({ ...get, field })).toEqual({ refused: 'clock' });
});

test('RequestVerifier remembers no nonce of a request that it refused', () => {
  const { signer, verifier } = pair();
  const field = signer.sign(get);
  expect(verifier.verify({ ...get, host: 'elsewhere', field })).toEqual({ refused: 'signature' });
  expect(verifier.verify({ ...get, field })).toMatchObject({ node: 'a.example' });
});

test('RequestVerifier ignores parts of the field that it does not know, in any order', () => {
  const { signer, verifier } = pair();
  const field = signer.sign(get);
  const parts = field.split('; ');
  expect(verifier.verify({ ...get, field: ['new=1', ...parts.reverse()].join(';') })).toMatchObject({
    node: 'a.example',
  });
});

test('RequestVerifier refuses every prefix, every flipped bit and fields without meaning', () => {
  const { signer, verifier } = pair();
  const field = signer.sign(get);
  const refused = (text: string) =>
    expect(verifier.verify({ ...get, field: text }), text).toHaveProperty('refused');
  for (let end = 0; end < field.length; end++) refused(field.slice(0, end));
  for (let at = 0; at < field.length; at++)
    for (let bit = 0; bit < 7; bit++) {
      const changed = String.fromCharCode(field.charCodeAt(at) ^ (1 << bit));
      const text = field.slice(0, at) + changed + field.slice(at + 1);
      if (isSameField(text, field)) continue;
      refused(text);
    }
  for (const text of ['', ';', '=', 'v=1', `${field}; v=1`, `${field}; ${'x'.repeat(600)}=1`, 'v=2; node=a'])
    refused(text);
  expect(verifier.verify({ ...get, field: undefined })).toEqual({ refused: 'unsigned' });
});

test('isNodeId accepts names and addresses, and refuses what would break the field', () => {
  for (const id of ['a', 'cache-1.example:3129', '[2001:db8::1]:3129', 'x'.repeat(128)])
    expect(isNodeId(id)).toBe(true);
  for (const id of ['', 'a b', 'a;b', 'a,b', 'a"b', 'a\\b', 'a\nb', 'ä', 'x'.repeat(129)])
    expect(isNodeId(id)).toBe(false);
  expect(() => new RequestSigner(secret, 'a b', new VirtualClock())).toThrow(
    'Cannot sign as a node: expected an id',
  );
});

/** White space around parts, and the last two bits of base64, do not change what a field says. */
function isSameField(text: string, field: string): boolean {
  const read = (value: string) =>
    value.split(';').map((part) => {
      const [name, ...rest] = part.split('=');
      const content = rest.join('=').trim();
      return [
        name.trim(),
        name.trim() === 'mac' ? Buffer.from(content, 'base64url').toString('hex') : content,
      ];
    });
  return JSON.stringify(read(text)) === JSON.stringify(read(field));
}

test('RequestVerifier with certificates wants the name of the sender, and no clock', () => {
  const { signer, clock } = pair(86_400_000);
  const verifier = new RequestVerifier(secret, clock, { isCertified: true, id: 'b.example' });
  const field = signer.sign(get);
  const verdict = (names?: readonly string[] | null) => verifier.verify({ ...get, field, names });
  for (const names of [undefined, null, [], ['x.example', 'A.example']])
    expect(verdict(names)).toEqual({ refused: 'certificate' });
  expect(verdict(['x.example', 'a.example'])).toMatchObject({ node: 'a.example' });
  // The secret and the receiver count as before.
  const foreign = new RequestSigner(secret.slice(1), 'a.example', clock).sign(get);
  expect(verifier.verify({ ...get, field: foreign, names: ['a.example'] })).toEqual({ refused: 'signature' });
  const elsewhere = signer.sign({ ...get, to: 'c.example' });
  expect(verifier.verify({ ...get, field: elsewhere, names: ['a.example'] })).toEqual({
    refused: 'receiver',
  });
});
