/** The bytes of docs/spec/sync.md are those of the program, in both kernels. */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CountingBloomFilter } from '../../src/filters/counting/counting-bloom-filter.ts';
import { hashKey } from '../../src/kernel/batches/hash-key.ts';
import { Publisher } from '../../src/wire/sync/publisher.ts';
import { SetPublisher } from '../../src/wire/sync/set-publisher.ts';
import { SetSubscriber } from '../../src/wire/sync/set-subscriber.ts';
import { Subscriber } from '../../src/wire/sync/subscriber.ts';
import { readSyncMessage } from '../../src/wire/sync/sync-message.ts';
import { inBothKernels } from '../contracts/subject.ts';

const text = readFileSync(new URL('../../../../docs/spec/sync.md', import.meta.url), 'utf8');
const [, example, secondExample] = text.split('## A worked example');

/**
 * The messages that an example shows, in order: a name and hex digits, which may go on in lines of
 * their own.
 */
function shownIn(part: string): { type: string; hex: string }[] {
  return [...part.matchAll(/^(full|delta|heartbeat|request) +((?:[0-9A-F]{2}\s+)+)/gm)].map(
    ([, type, digits]) => ({ type, hex: digits.replace(/\s+/g, '') }),
  );
}

const SHOWN = shownIn(example);
const SHOWN_OF_SETS = shownIn(secondExample);

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

inBothKernels('docs/spec/sync.md, version 2', () => {
  it('shows the bytes of the session that it tells', () => {
    const publisher = new SetPublisher({ incarnation: 1, publisherId: 7, universe: 1000, keyId: 3 });
    for (const key of ['ant', 'bee', 'cat', 'dog', 'eel', 'fox', 'gnu', 'hen'])
      publisher.addHash(hashKey(key));
    publisher.publish();
    const subscriber = new SetSubscriber({ publisherId: 7, maxPositions: 1000 });
    const said: Uint8Array[] = [];
    const say = (message: Uint8Array | null | undefined) => {
      said.push(message!);
      return message!;
    };
    subscriber.receive(say(publisher.answer(say(subscriber.request()))));
    publisher.addHash(hashKey('owl'));
    publisher.deleteHash(hashKey('ant'));
    subscriber.receive(say(publisher.publish()));
    publisher.addHash(hashKey('pig'));
    publisher.publish();
    const { reply } = subscriber.receive(say(publisher.heartbeat()));
    subscriber.receive(say(publisher.answer(say(reply))));
    say(publisher.answer(subscriber.request()));
    const shown = said.map((message) => ({
      type: readSyncMessage(message, 2).type,
      hex: Buffer.from(message).toString('hex').toUpperCase(),
    }));
    expect(SHOWN_OF_SETS).toEqual(shown);
  });
});

describe('docs/spec/sync.md', () => {
  it('shows a session of version 2 that can be read back from its bytes alone', () => {
    const subscriber = new SetSubscriber({ publisherId: 7, maxPositions: 1000 });
    const statuses = SHOWN_OF_SETS.filter(({ type }) => type !== 'request').map(
      ({ hex }) => subscriber.receive(Uint8Array.from(Buffer.from(hex, 'hex'))).status,
    );
    expect(statuses).toEqual(['current', 'current', 'behind', 'current', 'current']);
    expect([...subscriber.positions()]).toEqual([153, 236, 249, 378, 441, 722, 834, 940, 986]);
  });

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
