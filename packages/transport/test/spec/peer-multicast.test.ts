import { readFileSync } from 'node:fs';
import { nonceClock } from '@bloomery/testkit/transport/nonce-clock';
import { expect, test } from 'vitest';
import { FleetKeyring } from '../../src/fleet-keyring.ts';
import { encodeDatagram, MULTICAST_PROTOCOL, subjectOf } from '../../src/multicast/datagram.ts';
import { parseMulticastGroup } from '../../src/multicast/multicast-group.ts';
import { SealedEnvelopes } from '../../src/presence/sealed-envelopes.ts';

const page = readFileSync(new URL('../../../../docs/spec/peer-multicast.md', import.meta.url), 'utf8');
const secret = Uint8Array.from({ length: 32 }, (_, i) => i);

test('the example of the page has the bytes of its datagram', () => {
  const seals = new SealedEnvelopes({
    protocol: MULTICAST_PROTOCOL,
    keyring: new FleetKeyring([secret]),
    clock: nonceClock(1_700_000_000_000, []),
    node: 'node-a',
    life: 'AAECAwQFBgcI',
  });
  const topic = 'summary';
  const subject = subjectOf(parseMulticastGroup('239.192.0.7:3130'), topic);
  const envelope = seals.seal(subject, { kind: 'message', number: 1, payload: Buffer.from('hello') });
  expect(page).toContain(`\n${encodeDatagram({ topic, envelope }).toString('hex')}\n`);
});
