/**
 * The contract of the port `Transport`. Every adapter runs it, so that a system which works on one
 * works on all. Errors are recognised by their names: the adapter under test may be loaded from its
 * sources, and this file loads the built package.
 */

import { MAX_MESSAGE_BYTES, type Peer, type Transport, type TransportError } from '@bloomery/transport';
import { afterEach, expect, test } from 'vitest';
import { type ContractNet, Recorder } from './contract-net.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (message: Uint8Array) => new TextDecoder().decode(message);
const soon = { timeoutMs: 10_000 };

export function transportContract(adapter: string, makeNet: () => Promise<ContractNet>): void {
  const nets: ContractNet[] = [];
  const newNet = async () => {
    const net = await makeNet();
    nets.push(net);
    return net;
  };
  afterEach(async () => {
    for (const net of nets.splice(0)) await net.end();
  });

  /** Two nodes that know each other, and are up. */
  async function pair() {
    const net = await newNet();
    const a = await net.start('a', ['b']);
    const b = await net.start('b', ['a']);
    await net.until('both are up', () => isUp(a) && isUp(b));
    return { net, a, b, toA: net.address('a'), toB: net.address('b') };
  }

  const codeOf = (promise: Promise<unknown>): Promise<string> =>
    promise.then(
      () => 'answered',
      (error: unknown) => {
        expect(`${error}`).toMatch(/^TransportError: Cannot (?:ask|reach) a neighbour: .+/);
        return (error as TransportError).code;
      },
    );

  test(`${adapter}: neighbours come up, give their ids, and the watchers are told`, async () => {
    const net = await newNet();
    const a = await net.start('a', ['b', 'c']);
    const seen: Peer[] = [];
    a.watchPeers((peer) => seen.push(peer));
    expect(a.self.id).toBe('a');
    expect(a.peers().map(({ state, id }) => [state, id])).toEqual([
      ['down', null],
      ['down', null],
    ]);
    await net.start('b', [], 'node-b');
    await net.until('b is up', () => seen.length === 1);
    expect(seen[0]).toMatchObject({ address: net.address('b'), id: 'node-b', state: 'up', why: null });
    expect(a.peers()[0]).toEqual(seen[0]);
    expect(a.peers()[1]).toMatchObject({ state: 'down', id: null });
    expect(a.peers()[1].why).not.toBe(null);
  });

  test(`${adapter}: a node that finds itself among its neighbours marks the address`, async () => {
    const net = await newNet();
    const a = await net.start('a', ['a', 'b']);
    await net.start('b', ['a', 'b']);
    await net.until('a found itself', () => a.peers()[0].state === 'self');
    await net.until('a found b', () => a.peers()[1].state === 'up');
    expect(await codeOf(a.request(net.address('a'), 'x', bytes(''), soon))).toBe('peer');
    expect(() => a.subscribe(net.address('a'), 'x', new Recorder())).toThrow(
      'Cannot reach a neighbour: expected another node, got this one',
    );
  });

  test(`${adapter}: messages arrive in order, after open, on their topic`, async () => {
    const { net, a, b, toA } = await pair();
    const [x, y] = [new Recorder(), new Recorder()];
    b.subscribe(toA, 'x', x);
    b.subscribe(toA, 'y', y);
    await net.until('both subscriptions are open', () => x.count('open') + y.count('open') === 2);
    for (let i = 0; i < 100; i++) a.publish('x', bytes(`${i}`));
    a.publish('y', bytes('other'));
    a.publish('z', bytes('unheard'));
    await net.until('all have come', () => x.messages.length === 100 && y.messages.length === 1);
    expect(x.told).toEqual(['open', ...Array.from({ length: 100 }, (_, i) => `message ${i}`)]);
    expect(y.told).toEqual(['open', 'message other']);
  });

  test(`${adapter}: several subscriptions of one topic get bytes of their own`, async () => {
    const { net, a, b, toA } = await pair();
    const all = [new Recorder(), new Recorder()];
    for (const each of all) b.subscribe(toA, 'x', each);
    await net.until('both are open', () => all.every((each) => each.count('open') === 1));
    // A Buffer, whose `slice` does not copy.
    const sent = Buffer.from('one');
    a.publish('x', sent);
    await net.until('both have it', () => all.every((each) => each.messages.length === 1));
    all[0].messages[0].fill(0);
    expect(text(all[1].messages[0])).toBe('one');
    expect(`${sent}`).toBe('one');
  });

  test(`${adapter}: messages may be empty, and as long as the limit`, async () => {
    const { net, a, b, toA } = await pair();
    const on = new Recorder();
    b.subscribe(toA, 'x', on);
    await net.until('open', () => on.count('open') === 1);
    const long = longest();
    a.publish('x', new Uint8Array(0));
    a.publish('x', long);
    await net.until('both have come', () => on.messages.length === 2);
    expect(on.messages[0].length).toBe(0);
    expect(Buffer.from(on.messages[1]).equals(long)).toBe(true);
    expect(() => a.publish('x', new Uint8Array(MAX_MESSAGE_BYTES + 1))).toThrow(
      `Cannot publish a message: expected at most ${MAX_MESSAGE_BYTES} bytes, got ${MAX_MESSAGE_BYTES + 1}`,
    );
  });

  test(`${adapter}: a subscription that was cancelled hears no more`, async () => {
    const { net, a, b, toA } = await pair();
    const [stays, leaves] = [new Recorder(), new Recorder()];
    b.subscribe(toA, 'x', stays);
    const cancel = b.subscribe(toA, 'x', leaves);
    await net.until('both are open', () => stays.count('open') + leaves.count('open') === 2);
    cancel();
    cancel();
    a.publish('x', bytes('later'));
    await net.until('the other has it', () => stays.messages.length === 1);
    expect(leaves.told).toEqual(['open']);
  });

  test(`${adapter}: a neighbour that closes is down at once, and heard again after its restart`, async () => {
    const { net, a, b, toA } = await pair();
    const on = new Recorder();
    b.subscribe(toA, 'x', on);
    await net.until('open', () => on.count('open') === 1);
    await a.close();
    await net.until('closed', () => on.count('closed') === 1);
    expect(b.peers()[0]).toMatchObject({ state: 'down', id: 'a' });
    const again = await net.start('a', ['b'], 'successor');
    await net.until('open again', () => on.count('open') === 2);
    expect(b.peers()[0]).toMatchObject({ state: 'up', id: 'successor', why: null });
    again.publish('x', bytes('news'));
    await net.until('the news have come', () => on.messages.length === 1);
    expect(on.told).toEqual(['open', 'closed', 'open', 'message news']);
  });

  test(`${adapter}: a silent neighbour is down after three heartbeats, and comes back by itself`, async () => {
    const { net, a, b, toA } = await pair();
    const on = new Recorder();
    b.subscribe(toA, 'x', on);
    await net.until('open', () => on.count('open') === 1);
    net.silence('a');
    await net.until('closed', () => on.count('closed') === 1);
    expect(b.peers()[0]).toMatchObject({ state: 'down', why: 'silent' });
    expect(a.peers()[0].id).toBe('b');
    net.unsilence('a');
    await net.until('open again', () => on.count('open') === 2);
    a.publish('x', bytes('back'));
    await net.until('the message has come', () => on.told.includes('message back'));
  });

  test(`${adapter}: a damaged message is seen as damaged, closes the link or is repaired, and later ones come`, async () => {
    const { net, a, b, toA } = await pair();
    const on = new Recorder();
    b.subscribe(toA, 'x', on);
    await net.until('open', () => on.count('open') === 1);
    net.damageNext('a');
    const sent = bytes('a message that is longer than a heartbeat, so that it is the one to be hit');
    a.publish('x', sent);
    await net.until('it has come, or the link is closed', () => on.told.length > 1);
    // An adapter that repairs brings the whole message once, and the link stays open.
    if (net.repairs) expect([on.messages, on.told]).toEqual([[sent], ['open', 'message']]);
    else for (const message of on.messages) expect(message).not.toEqual(sent);
    await net.until('open', () => on.count('open') === on.count('closed') + 1);
    a.publish('x', bytes('whole'));
    await net.until('the next has come', () => on.told.includes('message whole'));
  });

  test(`${adapter}: a request brings the answer of the service, which knows who asks`, async () => {
    const { net, a, b, toB } = await pair();
    b.serve('echo', async (body, from) => bytes(`${from} said ${text(body)}`));
    b.serve('empty', (body) => body);
    expect(text(await net.during(a.request(toB, 'echo', bytes('hello'), soon)))).toBe('a said hello');
    expect(await net.during(a.request(toB, 'empty', new Uint8Array(0), soon))).toEqual(new Uint8Array(0));
    const long = longest();
    const answer = await net.during(a.request(toB, 'empty', long, soon));
    expect(Buffer.from(answer).equals(long)).toBe(true);
  });

  test(`${adapter}: requests fail with the code of what is wrong`, async () => {
    const { net, a, b, toB } = await pair();
    b.serve('broken', () => {
      throw new Error('no');
    });
    b.serve('long', () => new Uint8Array(MAX_MESSAGE_BYTES + 1));
    const stop = b.serve('gone', (body) => body);
    stop();
    const ask = (topic: string, body = bytes('?')) => net.during(codeOf(a.request(toB, topic, body, soon)));
    expect(await ask('unknown')).toBe('topic');
    expect(await ask('gone')).toBe('topic');
    expect(await ask('broken')).toBe('failed');
    expect(await ask('long')).toBe('size');
    expect(await ask('long', new Uint8Array(MAX_MESSAGE_BYTES + 1))).toBe('size');
    expect(await codeOf(a.request('http://127.0.0.1:1', 'x', bytes(''), soon))).toBe('peer');
  });

  test(`${adapter}: a request ends at its deadline, by its signal, or with the transport`, async () => {
    const { net, a, b, toB } = await pair();
    b.serve('never', () => new Promise<Uint8Array>(() => {}));
    const ask = (options: { timeoutMs: number; signal?: AbortSignal }) =>
      codeOf(a.request(toB, 'never', bytes('?'), options));
    expect(await net.during(ask({ timeoutMs: 20 }))).toBe('timeout');
    const controller = new AbortController();
    const asked = ask({ ...soon, signal: controller.signal });
    controller.abort();
    expect(await net.during(asked)).toBe('aborted');
    expect(await net.during(ask({ ...soon, signal: controller.signal }))).toBe('aborted');
    const last = ask(soon);
    await a.close();
    expect(await net.during(last)).toBe('closed');
    expect(await net.during(ask(soon))).toBe('closed');
  });

  test(`${adapter}: a neighbour works on sixteen requests of one node, and refuses more`, async () => {
    const { net, a, b, toB } = await pair();
    const waiting: ((answer: Uint8Array) => void)[] = [];
    b.serve('slow', () => new Promise<Uint8Array>((resolve) => waiting.push(resolve)));
    const asked = Array.from({ length: 16 }, () => codeOf(a.request(toB, 'slow', bytes('?'), soon)));
    await net.until('all have come', () => waiting.length === 16);
    expect(await net.during(codeOf(a.request(toB, 'slow', bytes('?'), soon)))).toBe('busy');
    for (const answer of waiting) answer(bytes('!'));
    expect(new Set(await net.during(Promise.all(asked)))).toEqual(new Set(['answered']));
    const next = codeOf(a.request(toB, 'slow', bytes('?'), soon));
    await net.until('it has come', () => waiting.length === 17);
    waiting[16](bytes('!'));
    expect(await net.during(next)).toBe('answered');
  });

  test(`${adapter}: a request to a neighbour that is not there says so`, async () => {
    const { net, a, b, toB } = await pair();
    await b.close();
    await net.until('down', () => !isUp(a));
    expect(await net.during(codeOf(a.request(toB, 'x', bytes(''), soon)))).toBe('unreachable');
  });

  test(`${adapter}: a closed transport is quiet, and closing it again does nothing`, async () => {
    const { net, a, b, toA, toB } = await pair();
    const on = new Recorder();
    a.subscribe(toB, 'x', on);
    const heard = new Recorder();
    b.subscribe(toA, 'x', heard);
    await net.until('open', () => on.count('open') + heard.count('open') === 2);
    await a.close();
    await a.close();
    expect(on.told).toEqual(['open', 'closed']);
    b.publish('x', bytes('unheard'));
    a.publish('x', bytes('unsaid'));
    await net.until('b knows', () => heard.count('closed') === 1);
    expect(on.told).toEqual(['open', 'closed']);
    expect(heard.told).toEqual(['open', 'closed']);
  });
}

function longest(): Uint8Array {
  const bytes = new Uint8Array(MAX_MESSAGE_BYTES);
  for (let i = 0; i < bytes.length; i++) bytes[i] = i * 7 + (i >> 8);
  return bytes;
}

function isUp(transport: Transport): boolean {
  return transport.peers().every(({ state }) => state === 'up');
}
