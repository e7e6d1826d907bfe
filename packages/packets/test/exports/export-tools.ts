/** Parts that the tests of exporters share: a capture, and the state of a socket in the kernel. */

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { CaptureWriter } from '../../src/capture/index.ts';
import { ethernet, ipv4, ipv6, join, tcp, udp } from '../captures/build-packet.ts';

/** A capture of 2000 packets in 300 flows of IPv4 and IPv6. */
export function captureToExport(): Uint8Array {
  const writer = new CaptureWriter({ format: 'pcap' });
  for (let i = 0; i < 2000; i++) {
    const flow = (i * 7919) % 300;
    const filling = new Array<number>((i * 37) % 300).fill(0);
    const source = [10, 2, flow >>> 8, flow & 255];
    const bytes =
      flow % 4 === 0
        ? join(ethernet(0x86dd), ipv6(17, udp(1000 + flow, 53, filling)))
        : join(ethernet(0x0800), ipv4({ protocol: 6, source }, tcp(2000 + flow, 443, filling)));
    writer.add({ seconds: 1_700_000_000 + (i >>> 7), nanoseconds: i, bytes });
  }
  return writer.take();
}

/** A UDP port of 127.0.0.1 that was free a moment ago. */
export async function freePort(): Promise<number> {
  const probe = createSocket('udp4');
  probe.bind(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  await new Promise<void>((resolve) => probe.close(() => resolve()));
  return port;
}

/** Bytes that wait in the kernel for the socket of a port, or null if there is no such socket. */
export function waitingBytes(port: number): number | null {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  for (const line of readFileSync('/proc/net/udp', 'utf8').split('\n')) {
    const [, local, , , queues] = line.trim().split(/\s+/);
    if (local?.endsWith(suffix)) return Number.parseInt(queues.split(':')[1], 16);
  }
  return null;
}
