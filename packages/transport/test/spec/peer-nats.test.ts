import { readFileSync } from 'node:fs';
import { nonceClock } from '@bloomery/testkit/transport/nonce-clock';
import { expect, test } from 'vitest';
import { FleetKeyring } from '../../src/fleet-keyring.ts';
import { FleetSubjects, NATS_PROTOCOL } from '../../src/nats/subjects.ts';
import { SealedEnvelopes } from '../../src/presence/sealed-envelopes.ts';

const page = readFileSync(new URL('../../../../docs/spec/peer-nats.md', import.meta.url), 'utf8');
const secret = Uint8Array.from({ length: 32 }, (_, i) => i);

test('the example of the page has the subject and the bytes of its message', () => {
  const seals = new SealedEnvelopes({
    protocol: NATS_PROTOCOL,
    keyring: new FleetKeyring([secret]),
    clock: nonceClock(1_700_000_000_000, []),
    node: 'node-a',
    life: 'AAECAwQFBgcI',
  });
  const subject = new FleetSubjects('prod').said('node-a', 'summary');
  const sealed = seals.seal(subject, { kind: 'message', number: 1, payload: Buffer.from('hello') });
  expect(page).toContain(`subject   ${subject}\n${sealed.toString('hex')}\n`);
});
