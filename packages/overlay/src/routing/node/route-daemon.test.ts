import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { RouteDaemon, type RouteDaemonOptions } from './route-daemon.ts';

const OPTIONS: RouteDaemonOptions = {
  id: 'a',
  secret: new Uint8Array(24).fill(7),
  listen: { host: '127.0.0.1', port: 0 },
  plan: { objectsPerNode: 20 },
};

/** The status line of the answer to a request as it is written here. */
async function statusOf(control: string, head: string): Promise<string> {
  const socket = connect(Number(new URL(control).port), '127.0.0.1');
  let text = '';
  socket.on('data', (bytes) => {
    text += bytes;
  });
  socket.end(`${head.replaceAll('\n', '\r\n')}\r\nConnection: close\r\n\r\n`);
  await once(socket, 'close');
  return text.slice(0, text.indexOf('\r\n'));
}

test('RouteDaemon answers hostile requests on its control port, and goes on', async () => {
  const daemon = await RouteDaemon.start(OPTIONS);
  try {
    const { control } = daemon;
    // `//` is no path. A page of another site can send it, with its own host.
    expect(await statusOf(control, 'GET // HTTP/1.1\nHost: evil.example')).toContain('403');
    expect(await statusOf(control, 'GET // HTTP/1.1\nHost: 127.0.0.1')).toContain('400');
    expect(await statusOf(control, 'GET /status HTTP/1.1\nHost: evil.example')).toContain('403');
    expect(await statusOf(control, 'POST /announce?key=a HTTP/1.1\nHost: 127.0.0.1')).toContain('403');
    const locate = (key: string) => `GET /locate?key=${key} HTTP/1.1\nHost: 127.0.0.1`;
    expect(await statusOf(control, locate('x'.repeat(5000)))).toContain('400');
    expect(await statusOf(control, locate('%'))).toContain('200');
    expect(await statusOf(control, 'GET /status HTTP/1.1\nHost: localhost')).toContain('200');
  } finally {
    await daemon.close();
  }
});

test('RouteDaemon that cannot start leaves no port open', async () => {
  const daemon = await RouteDaemon.start(OPTIONS);
  const controlPort = Number(new URL(daemon.control).port);
  const listen = { host: '127.0.0.1', port: daemon.peerPort! };
  await daemon.close();
  const other = await RouteDaemon.start({ ...OPTIONS, listen });
  try {
    await expect(RouteDaemon.start({ ...OPTIONS, listen, controlPort })).rejects.toThrow(/EADDRINUSE/);
    const socket = connect(controlPort, '127.0.0.1');
    const [error] = await once(socket, 'error');
    expect(error).toMatchObject({ code: 'ECONNREFUSED' });
  } finally {
    await other.close();
  }
});
