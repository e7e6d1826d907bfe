import { expect, test } from 'vitest';
import { Services } from './services.ts';

test('Services answers by topic, and refuses an unknown topic and a service that throws', async () => {
  const services = new Services();
  const cancel = services.add('echo', (body, from) => Uint8Array.of(...body, from.length));
  services.add('broken', () => {
    throw new Error('no');
  });
  expect(await services.answer('echo', Uint8Array.of(7), 'node')).toEqual({ body: Uint8Array.of(7, 4) });
  expect(await services.answer('other', Uint8Array.of(7), 'node')).toEqual({ refused: 'topic' });
  expect(await services.answer('broken', Uint8Array.of(7), 'node')).toEqual({ refused: 'failed' });
  expect(() => services.add('echo', (body) => body)).toThrow(
    'Cannot serve a topic: expected one without a service, got echo',
  );
  cancel();
  expect(services.has('echo')).toBe(false);
});

test('Services counts the requests of each neighbour, and each end once', () => {
  const services = new Services(2);
  const first = services.enter('a');
  services.enter('a');
  expect(services.enter('a')).toBe(null);
  expect(services.enter('b')).not.toBe(null);
  first?.();
  first?.();
  expect(services.enter('a')).not.toBe(null);
  expect(services.enter('a')).toBe(null);
});
