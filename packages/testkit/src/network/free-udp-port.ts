/** A UDP port of loopback that no program uses at this moment. */

import { createSocket } from 'node:dgram';
import { once } from 'node:events';

export async function freeUdpPort(): Promise<number> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  socket.close();
  return port;
}
