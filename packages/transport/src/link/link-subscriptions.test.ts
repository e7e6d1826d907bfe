import { expect, test } from 'vitest';
import { LinkSubscriptions } from './link-subscriptions.ts';

function recorder(told: string[], name: string) {
  return {
    message: (bytes: Uint8Array) => {
      told.push(`${name} got ${bytes.join(' ')}`);
      bytes.fill(0);
    },
    open: () => told.push(`${name} open`),
    closed: (why: string) => told.push(`${name} closed: ${why}`),
  };
}

test('LinkSubscriptions tells each subscription of its link, and passes on messages of its topic', () => {
  const told: string[] = [];
  const all = new LinkSubscriptions();
  all.add('x', recorder(told, 'a'));
  const cancel = all.add('x', recorder(told, 'b'));
  all.add('y', recorder(told, 'c'));
  expect(all.topics()).toEqual(['x', 'y']);
  all.message('x', Uint8Array.of(0));
  all.open(['x']);
  all.open(['x']);
  all.message('x', Uint8Array.of(1, 2));
  all.message('y', Uint8Array.of(3));
  cancel();
  all.closed('lost');
  all.closed('lost');
  all.message('x', Uint8Array.of(4));
  expect(told).toEqual(['a open', 'b open', 'a got 1 2', 'b got 1 2', 'a closed: lost']);
});

test('LinkSubscriptions tells signs of life to subscriptions that are open and want them', () => {
  const told: string[] = [];
  const all = new LinkSubscriptions();
  all.add('x', { ...recorder(told, 'a'), heard: () => told.push('a heard') });
  all.add('x', recorder(told, 'b'));
  all.heard();
  all.open(['x']);
  all.heard();
  all.closed('lost');
  all.heard();
  expect(told).toEqual(['a open', 'b open', 'a heard', 'a closed: lost', 'b closed: lost']);
});

test('LinkSubscriptions leaves out a subscription that another one cancels or adds meanwhile', () => {
  const subscriptions = new LinkSubscriptions();
  const told: string[] = [];
  const on = (name: string, message: () => void = () => {}) => ({
    message: () => {
      told.push(name);
      message();
    },
    open() {},
    closed() {},
  });
  subscriptions.add(
    'x',
    on('first', () => {
      cancel();
      subscriptions.add('x', on('late'));
    }),
  );
  const cancel = subscriptions.add('x', on('second'));
  subscriptions.add('x', on('third'));
  subscriptions.open(['x']);
  subscriptions.message('x', Uint8Array.of(1));
  expect(told).toEqual(['first', 'third']);
});

test('LinkSubscriptions: a state comes before open, once, and as bytes of its own', () => {
  const subscriptions = new LinkSubscriptions();
  const told: string[] = [];
  const left = Buffer.from('left');
  const on = (name: string) => ({
    state: (bytes: Uint8Array) => {
      told.push(`${name} state ${Buffer.from(bytes)}`);
      bytes.fill(0);
    },
    open: () => told.push(`${name} open`),
    message: () => {},
    closed: () => {},
  });
  subscriptions.add('x', on('first'));
  subscriptions.add('x', on('second'));
  subscriptions.add('y', on('third'));
  const stateOf = (topic: string) => (topic === 'x' ? left : null);
  subscriptions.open(['x', 'y'], stateOf);
  subscriptions.open(['x', 'y'], stateOf);
  expect(told).toEqual(['first state left', 'first open', 'second state left', 'second open', 'third open']);
});
