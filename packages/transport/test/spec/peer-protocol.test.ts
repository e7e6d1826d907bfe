import { readFileSync } from 'node:fs';
import { nonceClock } from '@bloomery/testkit/transport/nonce-clock';
import { expect, test } from 'vitest';
import { fleetKeys } from '../../src/fleet-keys.ts';
import { answerMac, StreamSeal, sha256 } from '../../src/http/answer-mac.ts';
import { FrameReader, frameHead, HEARTBEAT, HELLO, MESSAGE } from '../../src/http/frame.ts';
import { decodeHello, encodeHello } from '../../src/http/hello.ts';
import { nonceOf, RequestSigner } from '../../src/http/signature.ts';

const page = readFileSync(new URL('../../../../docs/spec/peer-protocol.md', import.meta.url), 'utf8');
const secret = Uint8Array.from({ length: 32 }, (_, i) => i);
const { request, response, id } = fleetKeys(secret);
const host = '10.0.0.2:3129';

/** The fields of the page's example, by the method of their request. */
const fields = Object.fromEntries(
  [...page.matchAll(/^(GET|POST) (\S+) HTTP\/1\.1\nHost: .*\nBloomery-Peer: (.*)$/gm)].map(
    ([, method, target, field]) => [method, { target, field }],
  ),
);

test('the example of the page has the keys of its secret', () => {
  expect(page).toContain(`request key   ${Buffer.from(request).toString('hex')}`);
  expect(page).toContain(`response key  ${Buffer.from(response).toString('hex')}`);
  expect(page).toContain(`key id        ${id}\n`);
});

test('the example of the page has the signatures of its requests', () => {
  const { GET, POST } = fields;
  const nonces = [GET, POST].map(({ field }) => nonceOf(field) ?? '');
  const signer = new RequestSigner(secret, 'node-a', nonceClock(1_700_000_000_000, nonces));
  expect(signer.sign({ method: 'GET', target: GET.target, host })).toBe(GET.field);
  const body = Buffer.from('question');
  expect(signer.sign({ method: 'POST', target: POST.target, host, body })).toBe(POST.field);
});

test('the example of the page has the bytes of its stream and the signature of its answer', () => {
  const seal = new StreamSeal(response, nonceOf(fields.GET.field) ?? '');
  const frame = (kind: number, payload: Uint8Array) =>
    Buffer.concat([frameHead(kind, 0, payload.length), payload, seal.next(kind, 0, sha256(payload))]);
  const hello = {
    node: 'node-b',
    protocol: 1,
    life: 'kR3x',
    heartbeatMs: 5000,
    next: 0,
    gap: false,
    keys: [id],
  };
  const stream = [
    frame(HELLO, encodeHello(hello)),
    frame(MESSAGE, Buffer.from('hello')),
    frame(HEARTBEAT, new Uint8Array(0)),
  ];
  expect(page).toContain(`\`\`\`\n${stream.map((bytes) => bytes.toString('hex')).join('\n')}\n\`\`\``);
  const [first, second] = new FrameReader().push(Buffer.concat(stream));
  expect(decodeHello(first.payload)).toEqual(hello);
  expect(`${Buffer.from(second.payload)}`).toBe('hello');
  const mac = answerMac(response, nonceOf(fields.POST.field) ?? '', 200, Buffer.from('answer'));
  expect(page).toContain(`Bloomery-Answer: ${mac}\n`);
});
