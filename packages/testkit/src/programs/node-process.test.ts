import { expect, test } from 'vitest';
import { NodeProcess } from './node-process.ts';

const LISTENS = `
process.on('SIGTERM', () => process.exit(5));
console.error(JSON.stringify({ level: 'info', event: 'listening', port: 7 }));
setInterval(() => {}, 1000);
`;

test('NodeProcess waits for an event in the log, and stops the process with its exit code', async () => {
  const node = new NodeProcess(['--eval', LISTENS]);
  expect((await node.event('listening')).port).toBe(7);
  expect(node.isRunning).toBe(true);
  expect(await node.stop()).toBe(5);
  expect(node.isRunning).toBe(false);
});

test('NodeProcess kills the process', async () => {
  const node = new NodeProcess(['--eval', LISTENS]);
  await node.event('listening');
  await node.kill();
  expect(await node.gone).toBe('SIGKILL');
});

test('NodeProcess reports a process that ended before the event, with its words', async () => {
  const node = new NodeProcess(['--eval', "console.error('no port'); process.exit(3)"]);
  await expect(node.event('listening')).rejects.toThrow(/got the end of the process \(3\): no port/);
  expect(node.said).toEqual(['no port']);
});
