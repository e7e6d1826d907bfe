/** The bytes of docs/spec/sync.md are those of the program, in both kernels. */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CountingBloomFilter } from '../../src/filters/counting/counting-bloom-filter.ts';
import { Publisher } from '../../src/wire/sync/publisher.ts';
import { Subscriber } from '../../src/wire/sync/subscriber.ts';
import { readSyncMessage } from '../../src/wire/sync/sync-message.ts';
import { inBothKernels } from '../contracts/subject.ts';

const text = readFileSync(new URL('../../../../docs/spec/sync.md', import.meta.url), 'utf8');
const [, example] = text.split('## A worked example');

/**
 * The messages that the page shows, in order: a name and hex digits, which may go on in lines of
 * their own.
 */
const SHOWN = [...example.matchAll(/^(full|delta|heartbeat|request) +((?:[0-9A-F]{2}\s+)+)/gm)].map(
  ([, type, digits]) => ({ type, hex: digits.replace(/\s+/g, '') }),
);

inBothKernels('docs/spec/sync.md', () => {
  it('shows the bytes of the session that it tells', () => {
    const filter = new CountingBloomFilter({ counters: 128, hashes: 3, trackChanges: true });
    filter.addMany(['ant', 'bee', 'cat']);
    const publisher = new Publisher({ filter, incarnation: 1, publisherId: 7 });
    const subscriber = new Subscriber({ publisherId: 7 });
    const said: Uint8Array[] = [];
    const say = (message: Uint8Array | null | undefined) => {
      said.push(message!);
      return message!;
    };
    subscriber.receive(say(publisher.answer(say(subscriber.request()))));
    publisher.add('dog');
    publisher.delete('ant');
    expect(publisher.changedCount()).toBe(4);
    subscriber.receive(say(publisher.publish()));
    publisher.add('eel');
    publisher.publish();
    const { reply } = subscriber.receive(say(publisher.heartbeat()));
    subscriber.receive(say(publisher.answer(say(reply))));
    say(publisher.answer(subscriber.request()));
    const shown = said.map((message) => ({
      type: readSyncMessage(message).type,
      hex: Buffer.from(message).toString('hex').toUpperCase(),
    }));
    expect(SHOWN).toEqual(shown);
    expect(said.map(({ length }) => length)).toEqual([19, 79, 41, 35, 45, 45, 39]);
  });
});

describe('docs/spec/sync.md', () => {
  it('shows every type of message, asked for and not', () => {
    const types = new Set(SHOWN.map(({ hex }) => hex.slice(10, 12)));
    expect([...types].sort()).toEqual(['02', '03', '04', '81', '82', '83']);
  });

  it('can be read back from its bytes alone', () => {
    const subscriber = new Subscriber({ publisherId: 7 });
    const statuses = SHOWN.filter(({ type }) => type !== 'request').map(
      ({ hex }) => subscriber.receive(Uint8Array.from(Buffer.from(hex, 'hex'))).status,
    );
    expect(statuses).toEqual(['current', 'current', 'behind', 'current', 'current']);
    expect(['bee', 'cat', 'dog', 'eel'].every((key) => subscriber.has(key))).toBe(true);
    expect(subscriber.has('ant')).toBe(false);
  });
});
